"""The mean of two packaged models of one shape, in 4 bits again: `python mean.py A B SHARE_OF_B CONFIG OUT_FOLDER`.

The mean of two runs from the same weights is often better than either: what differs between them is mostly noise of the
last steps."""

import json
import os
import sys

from package_mlc import package
from unpack_mlc import weights


def main(a, b, share, name, out):
    share = float(share)
    config = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "configs.json")))[name]
    first, second = weights(a), weights(b)
    state = {key: (1 - share) * value + share * second[key] for key, value in first.items()}
    os.makedirs(out, exist_ok=True)
    package({"model": state, "config": config}, a, out, True)


if __name__ == "__main__":
    main(*sys.argv[1:6])
