"""Object detections: readers, matching once, and average precision from the table of matches."""

from helpers.detection.bdd import CLASSES, read_predictions, read_tags
from helpers.detection.bdd import read_labels as read_bdd
from helpers.detection.coco import as_coco, read_results
from helpers.detection.coco import read_labels as read_coco
from helpers.detection.curves import Cells, Curves, curves
from helpers.detection.data import DetectionDataError, Detections, GroundTruth
from helpers.detection.evaluation import average_precision, whole
from helpers.detection.matches import Matches, OfClass
from helpers.detection.matching import IOU_THRESHOLDS, match

__all__ = [
    "CLASSES",
    "IOU_THRESHOLDS",
    "Cells",
    "Curves",
    "DetectionDataError",
    "Detections",
    "GroundTruth",
    "Matches",
    "OfClass",
    "as_coco",
    "average_precision",
    "curves",
    "match",
    "read_bdd",
    "read_coco",
    "read_predictions",
    "read_results",
    "read_tags",
    "whole",
]
