"""Synthetic datasets with known biases: pictures, street scenes and a detector.

The drawing code is frozen, so that the images keep their bits.
"""
