import torch


def focus_of(maps: torch.Tensor, layouts: torch.Tensor) -> torch.Tensor:
    """Compute Focus (Equation 1), the share of positive relevance on target cells.

    Maps are float (N, H, W), and layouts bool (N, rows, columns), true where the target
    is. The result is float64 (N,). It is NaN where no relevance is positive, or where
    relevance is not finite.
    """
    height, width = maps.shape[1:]
    n_rows, n_columns = layouts.shape[1:]
    # the row and the column of the cell to which each pixel belongs
    row = ((torch.arange(height, device=maps.device) + 1) * n_rows - 1) // height
    column = ((torch.arange(width, device=maps.device) + 1) * n_columns - 1) // width
    is_target = layouts[:, row][:, :, column]
    positive = maps.clamp(min=0).double()
    on_target = (positive * is_target).sum((1, 2))
    total = positive.sum((1, 2))
    is_defined = (total > 0) & total.isfinite()
    return torch.where(is_defined, on_target / total, torch.nan)
