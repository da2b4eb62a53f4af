"""Paper 4, *Towards Standardizing AI Bias Exploration*: measures of bias composed from blocks.

counts    columns and CSV files, groups of rows, and the one table of counts
blocks    base measures, comparison sets, comparisons, reductions, and a cell made of them
named     the paper's Table 1 as data: measures of bias by their names
evidence  intervals, permutation nulls and multiplicity
report    every combination of the blocks, and the way back from a cell to its rows
examples  the tables that notebook 09 reads, and other toolkits' answers
paper     the paper's own code and Figure 1
claims    what notebook 09 measures for the claims of the paper
"""
