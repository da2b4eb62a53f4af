"""Comparisons that lessons and the check cells of their exercises use."""

from collections.abc import Mapping

import numpy as np

ROUNDING = {"rtol": 0.005, "atol": 0.0005}  # answers may be rounded to three digits


def assert_close(
    answer, expected: float, hint: str, mistakes: Mapping[str, float] | None = None
) -> None:
    """Check a number that a student computed.

    Parameters
    ----------
    answer : number, or array, tensor or list with one element
        The student's answer. It may be rounded to three digits.
    expected : float
        The right number.
    hint : str
        The message for an answer that is wrong in an unknown way.
    mistakes : mapping of str to float, optional
        Wrong numbers that students often compute, each under the hint that helps.

    Raises
    ------
    AssertionError
        The answer is missing or wrong. The message is the hint that fits best.
    """
    number = _as_number(answer)
    known_mistakes = dict(mistakes or {})
    known_mistakes["The sign is reversed."] = -expected
    known_mistakes["This is a percentage. Give a number from 0 to 1."] = 100 * expected
    error = abs(number - expected)
    for explanation, mistake in known_mistakes.items():
        if np.isclose(number, mistake, **ROUNDING):
            assert error <= abs(number - mistake), explanation
    assert np.isclose(number, expected, **ROUNDING), hint


def _as_number(answer) -> float:
    """Convert an answer of any numeric type to a float."""
    assert answer is not None, "Write your code in the cell above, and run that cell."
    if hasattr(answer, "detach"):
        answer = answer.detach()
    values = np.asarray(answer)
    is_number = values.size == 1 and values.dtype.kind in "biuf"
    assert is_number, f"The answer must be one number, not a {type(answer).__name__}."
    return float(values.item())


def compare(quantity: str, result, package_result, *, within: float = 1e-6) -> None:
    """Print how a result of the lesson's own code differs from the package's.

    Nothing is printed if the two agree. The notebook goes on in both cases, because a
    reader who edits a method wants to see the effect on all later results.

    Parameters
    ----------
    quantity : str
        What is compared, such as ``"Focus"``.
    result, package_result : number, text, array or tensor
        The result of the cells of this notebook, and the result of the package.
    within : float
        The largest difference that is ignored, as a share of the package's largest
        absolute value.
    """
    difference = _difference(result, package_result, within)
    if difference:
        print(f"Your version differs from the package: {quantity} {difference}.")


def _difference(result, package_result, within: float) -> str:
    """Describe how two results differ, or return an empty text."""
    if isinstance(result, str) or isinstance(package_result, str):
        if result == package_result:
            return ""
        return f"is {result} here and {package_result} there"
    own = np.asarray(result, dtype=float)
    package = np.asarray(package_result, dtype=float)
    if own.shape != package.shape:
        return f"has the shape {own.shape} here and {package.shape} there"
    finite = np.isfinite(package)
    tolerance = within * np.max(np.abs(package), initial=0, where=finite)
    if np.allclose(own, package, rtol=0, atol=tolerance, equal_nan=True):
        return ""
    if own.size > 1:
        return f"differs by up to {np.nanmax(np.abs(own - package)):.2g}"
    return f"is {own.item():.4g} here and {package.item():.4g} there"
