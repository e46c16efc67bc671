"""Forests that other processes sent."""

import pickle

import numpy as np
import pytest

from hardwood import RobustForestClassifier


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_arrays_can_lie_anywhere_in_a_message(rng, shift):
    X = rng.normal(size=(50, 3))
    forest = RobustForestClassifier(3, random_state=0).fit(X, X[:, 0] > 0)._compact.forest
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(forest, protocol=5, buffer_callback=buffers.append)
    sent = []
    for buffer in buffers:
        raw = bytes(buffer.raw())
        message = np.frombuffer(bytes(shift) + raw, dtype=np.uint8)
        sent.append(memoryview(message)[shift:])
    received = pickle.loads(pickled, buffers=sent)
    assert np.array_equal(received.apply(X, 1), forest.apply(X, 1))
