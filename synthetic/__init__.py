"""Draw synthetic datasets with known biases, and train a small detector on some.

The drawing code is frozen, so that the images keep their bits.
"""
