"""Reference systems: constants, rules, classical learners and networks."""
