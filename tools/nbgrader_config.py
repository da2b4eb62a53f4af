"""Settings of nbgrader for a class; ``make class`` copies them."""

from nbgrader.converters.generate_assignment import GenerateAssignment
from nbgrader.preprocessors import NbGraderPreprocessor


class UnfoldSolutions(NbGraderPreprocessor):
    """Unfold the cells in which students write their code."""

    def preprocess_cell(self, cell, resources, cell_index):
        """Remove the metadata by which JupyterLab folds a solution."""
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.metadata.pop("jupyter", None)
        return cell, resources


config = get_config()  # noqa: F821  defined where nbgrader loads this file
config.GenerateAssignment.preprocessors = [
    UnfoldSolutions,
    *GenerateAssignment.preprocessors.default(),
]
# A solution cell begins with a line such as "share = None  # your code here".
config.ClearSolutions.code_stub = {"python": ""}
config.ExecutePreprocessor.timeout = 1800  # seconds for one cell
