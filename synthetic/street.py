"""Draw synthetic street scenes with cars, pedestrians, traffic signs and trucks.

The same scene can be rendered with other *appearances*. If a detector's result then changes, the
appearance is the cause.
"""

import itertools
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw
from tqdm import tqdm

GROUPS = ("low", "middle", "high")  # of income
WIDTH, HEIGHT = 320, 160  # pixels
FOCAL, CAMERA, HORIZON = 150.0, 1.4, 66  # pixels; metres above the road; row
KINDS = ("car", "pedestrian", "traffic sign", "truck")
TWO_APPEARANCES = ("car", "pedestrian")  # the other kinds have one
APPEARANCES = ("A", "B")
METRES = {  # width, height, and height of the lower edge over the ground
    "car": (1.9, 1.55, 0.0),
    "pedestrian": (0.7, 1.75, 0.0),
    "traffic sign": (0.9, 0.9, 1.6),
    "truck": (2.5, 3.1, 0.0),
}
BESIDE = {  # how far from the middle of the road, metres, either side
    "car": (1.0, 5.0),
    "pedestrian": (4.5, 8.0),
    "traffic sign": (4.5, 7.0),
    "truck": (1.2, 4.5),
}
NUMBER = {
    "car": 4.0,
    "pedestrian": 2.2,
    "traffic sign": 1.8,
    "truck": 0.7,
}  # of each a frame
NEAR, FAR = 6.0, 40.0  # metres, of things
VARIANTS = 24  # colours of each appearance
SPRITE = (
    64  # pixels along the longer side of a sprite, before it is fitted to its distance
)
SEEN, OCCLUDED = (
    0.25,
    0.75,
)  # shares of a thing: less is not labelled; less is labelled occluded
LEAST = 5  # pixels of height, below which a thing is not labelled
WEATHER = {"clear": 0.7, "rainy": 0.15, "snowy": 0.15}
SCENES = {"city street": 58, "residential": 24}  # highest building, pixels

SHAPES = (
    Path(__file__).parents[1] / "data" / "street_looks.csv"
)  # of each appearance, with corners from 0 to 1


def scenes(n: int, seed: int, harder: float = 0.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw `n` scenes as tables of frames and things, a third of the frames per income group.

    `harder` is the scene difficulty. At 0, the scenes of all groups are alike. At 1, things are up
    to 50 m away where income is low, and up to 30 m where it is high. Their number is 1.25 and 0.75
    times the usual one, and 0.6 and 0.2 of the frames are at night."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(n) % 3)
    tilt = (
        harder * (1 - group) / 2
    )  # half at low, 0 at middle, minus half at high income
    night = rng.random(n) < 0.4 + 0.4 * tilt
    frames = pd.DataFrame(
        {
            "name": [f"street-{seed}-{i:05d}.png" for i in range(n)],
            "video": [f"street-{seed}-{i:05d}" for i in range(n)],
            "income": pd.Categorical.from_codes(group, GROUPS, ordered=True),
            "timeofday": np.where(night, "night", "daytime"),
            "weather": rng.choice(list(WEATHER), n, p=list(WEATHER.values())),
            "scene": rng.choice(list(SCENES), n),
            "width": WIDTH,
            "seed": rng.integers(2**31, size=n),
        }
    )
    parts = []
    for kind in KINDS:
        frame = np.repeat(np.arange(n), rng.poisson(NUMBER[kind] * (1 + 0.5 * tilt)))
        near, far = np.log(NEAR), np.log(FAR * (1 + 0.5 * tilt[frame]))
        distance = np.exp(near + (far - near) * rng.random(len(frame)) ** 0.7)
        aside = rng.uniform(*BESIDE[kind], len(frame)) * rng.choice([-1, 1], len(frame))
        rows = {
            "frame": frame,
            "kind": kind,
            "variant": rng.integers(VARIANTS, size=len(frame)),
        }
        rows |= {"distance": distance, "aside": aside, "chance": rng.random(len(frame))}
        parts.append(pd.DataFrame(rows))
    things = pd.concat(parts).sort_values(
        ["frame", "distance"], ascending=[True, False]
    )
    return frames, things.reset_index(drop=True)


def dressed(
    frames: pd.DataFrame,
    things: pd.DataFrame,
    share_of_b: float | tuple[float, float, float],
) -> pd.DataFrame:
    """Give each thing an appearance: 1 (B) for a share of the cars and pedestrians, else 0 (A).

    The share is one number, or one for each income group."""
    share = np.broadcast_to(share_of_b, len(GROUPS))[
        frames["income"].cat.codes.to_numpy()
    ]
    is_b = things["chance"] < share[things["frame"]]
    is_b &= things["kind"].isin(TWO_APPEARANCES)
    return things.assign(appearance=is_b.astype(int))


def appearances() -> dict[str, np.ndarray]:
    """Return a picture, uint8 (3, 64, 64), of each appearance of cars and pedestrians, by name."""
    grounds = {}
    for kind, look in itertools.product(TWO_APPEARANCES, range(2)):
        sprite, ground = (
            _sprite(kind, look, 0),
            Image.new("RGB", (SPRITE, SPRITE), "white"),
        )
        ground.paste(
            sprite, ((SPRITE - sprite.width) // 2, SPRITE - sprite.height), sprite
        )
        grounds[f"{kind}, appearance {APPEARANCES[look]}"] = np.asarray(
            ground
        ).transpose(2, 0, 1)
    return grounds


def render(
    frames: pd.DataFrame, things: pd.DataFrame
) -> tuple[np.ndarray, pd.DataFrame]:
    """Render scenes as images, uint8 (N, 3, 160, 320), with their labelled boxes (pixels).

    ``visible`` is the share of a thing that nothing hides, and ``distance`` is in metres."""
    of_frame = defaultdict(list)
    for thing in things.itertuples():
        of_frame[thing.frame].append(thing)
    images, rows = np.empty((len(frames), 3, HEIGHT, WIDTH), np.uint8), []
    bar = tqdm(
        frames.to_dict("records"),
        desc="frames",
        delay=2,
        file=sys.stdout,
        leave=False,
        ncols=80,
    )
    for number, frame in enumerate(bar):
        picture, placed = _rendered(frame, of_frame[number])
        images[number] = picture.transpose(2, 0, 1)
        rows += [(*row, number) for row in placed]
    columns = [
        "category",
        "x1",
        "y1",
        "x2",
        "y2",
        "truncated",
        "appearance",
        "distance",
        "visible",
    ]
    boxes = pd.DataFrame(rows, columns=[*columns, "image"])
    boxes.insert(len(columns), "occluded", boxes["visible"] < OCCLUDED)
    fit = (boxes["visible"] >= SEEN) & (boxes["y2"] - boxes["y1"] >= LEAST)
    boxes = boxes[fit].reset_index(drop=True).assign(ignore=False)
    boxes["category"] = pd.Index(KINDS).get_indexer(boxes["category"])
    return images, boxes


def picture(frames: pd.DataFrame, things: pd.DataFrame, number: int) -> np.ndarray:
    """Render one of the scenes as a picture, uint8 (160, 320, 3)."""
    own = things[things["frame"] == number].assign(frame=0)
    return render(frames.iloc[[number]], own)[0][0].transpose(1, 2, 0)


def _rendered(frame: dict, things: list) -> tuple[np.ndarray, list[tuple]]:
    """Render one frame, uint8 (160, 320, 3), and list the places of its things, the farthest first."""
    rng = np.random.default_rng(frame["seed"])
    picture = _ground(rng, SCENES[frame["scene"]])
    owner = np.full((HEIGHT, WIDTH), -1, np.int16)
    rows = []
    for number, thing in enumerate(things):
        wide, high, over = METRES[thing.kind]
        scale = FOCAL / thing.distance
        size = max(1, round(wide * scale)), max(1, round(high * scale))
        left = round(WIDTH / 2 + thing.aside * scale - size[0] / 2)
        top = round(HORIZON + (CAMERA - over - high) * scale)
        sprite = _sprite(thing.kind, thing.appearance, thing.variant).resize(
            size, Image.Resampling.BOX
        )
        picture.paste(sprite, (left, top), sprite)
        x1, y1 = max(left, 0), max(top, 0)
        x2, y2 = min(left + size[0], WIDTH), min(top + size[1], HEIGHT)
        if x2 <= x1 or y2 <= y1:
            continue
        solid = np.asarray(sprite)[y1 - top : y2 - top, x1 - left : x2 - left, 3] > 127
        owner[y1:y2, x1:x2][solid] = number
        cut = (x2 - x1, y2 - y1) != size
        row = thing.kind, x1, y1, x2, y2, cut, thing.appearance, thing.distance
        rows.append((number, max(int(solid.sum()), 1), *row))
    seen = np.bincount(owner[owner >= 0], minlength=len(things))
    placed = [(*row, seen[number] / area) for number, area, *row in rows]
    return _weathered(np.asarray(picture), frame, rng), placed


def _ground(rng, tallest: int) -> Image.Image:
    """Draw the sky, buildings, the pavement and the road."""
    grey, blue = int(rng.integers(150, 215)), int(rng.integers(10, 36))
    picture = Image.new("RGB", (WIDTH, HEIGHT), (grey, grey + 8, grey + blue))
    draw = ImageDraw.Draw(picture)
    x = -rng.integers(30)
    while x < WIDTH:
        wide, high = int(rng.integers(18, 60)), int(rng.integers(12, tallest))
        shade = int(rng.integers(70, 170))
        tint = (
            shade,
            shade + int(rng.integers(-14, 6)),
            shade + int(rng.integers(-24, 4)),
        )
        draw.rectangle((x, HORIZON - high, x + wide, HORIZON + 4), fill=tint)
        for wx in range(int(x) + 4, int(x) + wide - 4, 9):
            for wy in range(HORIZON - high + 4, HORIZON - 6, 11):
                draw.rectangle(
                    (wx, wy, wx + 3, wy + 4), fill=tuple(c * 2 // 3 for c in tint)
                )
        x += wide
    draw.rectangle((0, HORIZON + 3, WIDTH, HEIGHT), fill=(128, 122, 112))
    road = [
        (WIDTH / 2 + s * 5.5 * FOCAL / d, HORIZON + CAMERA * FOCAL / d)
        for s, d in ((-1, 60), (1, 60), (1, 2.2), (-1, 2.2))
    ]
    draw.polygon(road, fill=(86, 86, 90))
    for d in np.geomspace(3, 50, 14):
        y, half = HORIZON + CAMERA * FOCAL / d, max(0.08 * FOCAL / d, 0.5)
        line = (WIDTH / 2 - half, y, WIDTH / 2 + half, y + max(20 / d, 1))
        draw.rectangle(line, fill="#c8c8b4")
    return picture


def _weathered(picture: np.ndarray, frame: dict, rng) -> np.ndarray:
    """Add night (gain and noise), rain (streaks, less contrast) or snow (specks), in integers."""
    image = picture.astype(np.int16)
    if frame["weather"] == "rainy":
        image = image * 3 // 4 + 30
        for x, y in rng.integers((WIDTH, HEIGHT - 9), size=(130, 2)):
            image[y : y + 9, x] += 28
    elif frame["weather"] == "snowy":
        image = image * 4 // 5 + 36
        y, x = rng.integers((HEIGHT, WIDTH), size=(420, 2)).T
        image[y, x] = 245
    if frame["timeofday"] == "night":
        image = image * 2 // 5
        image += rng.integers(-22, 23, image.shape, dtype=np.int16)
    else:
        image += rng.integers(-6, 7, image.shape, dtype=np.int16)
    return image.clip(0, 255).astype(np.uint8)


@cache
def _shapes() -> pd.DataFrame:
    """Read the shapes of all appearances, each from the back to the front."""
    return pd.read_csv(SHAPES).set_index(["kind", "look"]).drop(columns="what")


@cache
def _sprite(kind: str, look: int, variant: int) -> Image.Image:
    """Draw one appearance of a thing in one colour, RGBA, four times as large, and reduce it."""
    wide, high, _ = METRES[kind]
    scale = 4 * SPRITE / max(wide, high)
    size = np.array([round(wide * scale), round(high * scale)])
    picture = Image.new("RGBA", tuple(size.tolist()))
    rng = np.random.default_rng([KINDS.index(kind), look, variant])
    paint = rng.integers(40, 225, 3)
    colours = {
        "paint": paint,
        "dark": paint * 5 // 9,
        "light": (paint + 30).clip(max=255),
    }
    if kind == "pedestrian":
        colours["skin"] = (np.array([224, 190, 160]) * rng.uniform(0.4, 1)).astype(int)
    if kind == "traffic sign":
        colours["rim"] = np.array([(190, 30, 35), (30, 70, 170)][rng.integers(2)])
        look = rng.integers(2)  # a triangle or a ring, alike everywhere
    draw = ImageDraw.Draw(picture)
    for shape, colour, *corners in (
        _shapes().loc[[(kind, look)]].itertuples(index=False)
    ):
        places = (np.reshape([x for x in corners if x == x], (-1, 2)) * size).tolist()
        fill = tuple(colours[colour].tolist()) if colour in colours else colour
        getattr(draw, shape)([tuple(place) for place in places], fill=fill)
    return picture.resize(tuple((size // 4).tolist()), Image.Resampling.BOX)
