"""One YAML file for each instrument the simulator can look through."""
