"""Compose measures of bias from blocks (*Towards Standardizing AI Bias Exploration*)."""
