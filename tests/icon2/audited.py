"""Compare groups as an audit does, on frames instead of files."""

from helpers.audit.detector_audit import SIDES, AuditSteps
from helpers.icon2 import detector_findings, pooled_recall


def audited(frames, column="place", draws=79):
    """Compare the groups of a column as the audit does, without its power."""
    audit = AuditSteps(
        frames,
        groups=[column],
        classes=None,
        sizes=SIDES,
        cluster=None,
        resamples=60,
        seed=0,
    )
    audit.compare_groups(draws)
    audit.explain()
    return audit


def is_found(audit):
    """Return whether the headline or a row says that a group is worse or better."""
    in_headline = audit.headline().startswith(("Worse", "Better"))
    in_pooled = (audit.pooled["verdict"] == pooled_recall.FOUND).any()
    in_classes = (audit.gaps["verdict"] == detector_findings.YES).any()
    return bool(in_headline or in_pooled or in_classes)
