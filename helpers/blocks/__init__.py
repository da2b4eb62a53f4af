"""Paper 4, *Towards Standardizing AI Bias Exploration*: measures of bias composed from blocks."""
