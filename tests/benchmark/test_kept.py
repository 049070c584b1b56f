"""A kept property is worked out once, and nobody waits for another instance's."""

import threading

from specvi_benchmark.kept import kept


class Slow:
    def __init__(self, gate=None):
        self.gate, self.times = gate, 0

    @kept
    def value(self):
        """Say what it is."""
        if self.gate is not None:
            assert self.gate.wait(20)
        self.times += 1
        return self.times


def test_it_is_worked_out_once_and_for_each_instance():
    one, other = Slow(), Slow()
    assert (one.value, one.value, other.value) == (1, 1, 1)
    assert Slow.value.__doc__ == "Say what it is."


def test_an_instance_does_not_wait_for_another():
    gate = threading.Event()
    slow = Slow(gate)
    worker = threading.Thread(target=lambda: slow.value)
    worker.start()
    assert Slow().value == 1  # with one lock for all, this would wait for the gate
    assert slow.times == 0
    gate.set()
    worker.join(20)
    assert slow.value == 1
