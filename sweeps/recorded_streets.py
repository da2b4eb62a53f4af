"""Record the synthetic street scenes of lessons 08 and 08b, as the detector sees them.

Run ``python -m sweeps.recorded_streets``. It writes labels, detections and twelve
pictures below ``data/streets``.
"""

from PIL import Image

from helpers.icon2.streets import PICTURES, SHARES_OF_B, TABLES, Streets
from synthetic import street

LESSON_08 = Streets(900)
LESSON_08B = Streets(600)
# clear days with many things near the camera, of low and high income in turn
PICTURED = (740, 284, 82, 157, 89, 223)


def main() -> None:
    """Record the streets of both lessons, and six layouts in both appearances."""
    for streets in (LESSON_08, LESSON_08B):
        frames = streets.make()
        streets.folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            path = streets.folder / f"{name}.parquet"
            getattr(frames, name).to_parquet(path, compression="zstd")
    frames, things = LESSON_08.layouts()
    for name, shares in (("own", SHARES_OF_B), ("swapped", SHARES_OF_B[::-1])):
        dressed = street.dressed(frames, things, shares)
        for place, number in enumerate(PICTURED):
            picture = Image.fromarray(street.picture(frames, dressed, number))
            picture.save(PICTURES / f"{place}-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
