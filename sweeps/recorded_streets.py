"""Record the synthetic street scenes of lessons 08 and 08b, as the detector sees them.

Run ``python -m sweeps.recorded_streets``. It writes labels and detections below
``data/streets``.
"""

from helpers.icon2.streets import TABLES, Streets

LESSON_08 = Streets(900)
LESSON_08B = Streets(600)


def main() -> None:
    """Record the streets of both lessons."""
    for streets in (LESSON_08, LESSON_08B):
        frames = streets.make()
        streets.folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            path = streets.folder / f"{name}.parquet"
            getattr(frames, name).to_parquet(path, compression="zstd")


if __name__ == "__main__":
    main()
