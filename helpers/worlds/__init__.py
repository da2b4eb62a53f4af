"""Worlds whose biases are planted, so that every method can be told right from wrong."""
