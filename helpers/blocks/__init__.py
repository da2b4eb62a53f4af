"""Paper 4, *Towards Standardizing AI Bias Exploration*: measures of bias composed from blocks.

columns   columns and CSV files as they come, checked
counts    groups of rows, and the one table of counts that everything follows from
blocks    base measures, comparison sets, comparisons, reductions, and a cell made of them
scores    base measures of scores, and curves
named     the paper's Table 1 as data: measures of bias by their names
evidence  intervals, permutation nulls and multiplicity
report    every combination of the blocks, and the way back from a cell to its rows
examples  the small tables and real frames that notebook 09 reads, and other toolkits' answers
paper     the paper's own snippets and Figure 1, and what notebook 09 claims
"""
