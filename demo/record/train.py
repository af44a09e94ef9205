#!/usr/bin/python3
"""Small real trainings on the CPU, each with one way of using memory.

  train.py data --mib N --seed S FILE     write a data file of random 128x128 RGB images
  train.py KIND --data FILE --scratch DIR --mib N --seconds S --seed S

KIND: inmemory, streaming, dataloader, checkpoint, leak, cache. Every kind takes real gradient steps.
"""
import argparse
import copy
import io
import os
import random
import time

import torch
import torch.nn.functional as F
from torch import nn

SIDE = 128
IMAGE = 3 * SIDE * SIDE  # bytes of one image in the file; also of one decoded 3x64x64 float image
MIB = 1 << 20


class Classifier(nn.Module):
    """A small convolutional net for 3x64x64 float images."""

    def __init__(self, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, 2), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.head = nn.Linear(32 * width, 10)

    def forward(self, x):
        return self.head(self.features(x))


def decode(raw):
    """Bytes of one image -> an augmented 3x64x64 float image (upsample, random crop, blur, downsample)."""
    x = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(1, 3, SIDE, SIDE).float().div_(255)
    x = F.interpolate(x, size=(224, 224), mode="bicubic", align_corners=False)
    top, left = random.randrange(32), random.randrange(32)
    x = F.avg_pool2d(x[:, :, top:top + 192, left:left + 192], 5, 1, 2)
    return F.interpolate(x, size=(64, 64), mode="bicubic", antialias=True, align_corners=False)[0]


LEAK_STEP_MIB = 7.9  # what the graph of one batch holds


def step(model, optimizer, x, y, keep=False):
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(model(x), y)
    loss.backward(retain_graph=keep)
    optimizer.step()
    return loss


def inmemory(a):
    """Decodes the whole data set into one tensor, then trains on it: a ramp, then a plateau of the data set's size."""
    n = a.mib * MIB // IMAGE
    images = torch.empty(n, 3, 64, 64)
    with open(a.data, "rb", buffering=0) as f:
        for i in range(n):
            images[i] = decode(f.read(IMAGE))
    labels = torch.randint(0, 10, (n,))
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    end = max(a.end, time.monotonic() + 15)
    while time.monotonic() < end:
        pick = torch.randint(0, n, (64,))
        step(model, optimizer, images[pick], labels[pick])


def streaming(a):
    """Reads one batch after the other from the file: flat, whatever the size of the file."""
    model = Classifier(24)
    optimizer = torch.optim.AdamW(model.parameters())
    with open(a.data, "rb", buffering=0) as f:
        while time.monotonic() < a.end:
            raw = f.read(96 * IMAGE)
            if len(raw) < 96 * IMAGE:
                f.seek(0)
                continue
            x = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(-1, 3, SIDE, SIDE).float().div_(255)
            x = F.interpolate(x, size=(96, 96), mode="bilinear", antialias=True, align_corners=False)
            step(model, optimizer, x, torch.randint(0, 10, (96,)))


class Tokens(torch.utils.data.Dataset):
    """Token lists as plain Python objects: every reader's reference counts copy the pages a fork shared."""

    def __init__(self, mib, rng):
        words = mib * MIB // (64 * 36 + 600)
        self.rows = [[rng.randrange(1000, 30000) for _ in range(64)] for _ in range(words)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return torch.tensor(row), sum(row) % 2


def dataloader(a):
    """A data set of Python objects behind DataLoader workers: each worker grows its own copy of it."""
    data = Tokens(a.mib, random.Random(a.seed))
    loader = torch.utils.data.DataLoader(data, batch_size=128, shuffle=True, num_workers=a.workers,
                                         persistent_workers=True, drop_last=True)
    model = nn.Sequential(nn.EmbeddingBag(30000, 128), nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    while time.monotonic() < a.end:
        for x, y in loader:
            step(model, optimizer, x, y)
            if time.monotonic() >= a.end:
                break


def checkpoint(a):
    """A flat run that saves now and then: a full copy of model and optimizer, serialised in memory, then written."""
    width = int((a.mib * MIB / 4 / 4) ** 0.5 / 2 ** 0.5)  # two square layers; weights, gradients and two moments
    model = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                          nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    kept, due, n = [], time.monotonic() + a.every, 0
    while time.monotonic() < a.end:
        step(model, optimizer, torch.randn(32, 256), torch.randint(0, 10, (32,)))
        if time.monotonic() < due:
            continue
        state = copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
        buffer = io.BytesIO()
        torch.save(state, buffer)
        path = os.path.join(a.scratch, f"checkpoint-{n:03d}.pt")
        with open(path, "wb") as f:
            f.write(buffer.getbuffer())
            f.flush()
            os.fsync(f.fileno())
        del state, buffer
        kept.append(path)
        if len(kept) > 3:
            os.unlink(kept.pop(0))
        due, n = time.monotonic() + a.every, n + 1


def leak(a):
    """Keeps the loss of many steps, and so their graphs, "for the plot": slow growth without end."""
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    history, start = [], time.monotonic()
    while time.monotonic() < a.end:
        loss = step(model, optimizer, torch.randn(48, 3, 64, 64), torch.randint(0, 10, (48,)), keep=True)
        # paced by the clock, so that any machine leaks the same
        if len(history) * LEAK_STEP_MIB < a.mib * (time.monotonic() - start) / (a.end - start):
            history.append(loss)


def cache(a):
    """Reads records at random from a file larger than the limit, again and again: memory is page cache."""
    record, size = 3000, os.path.getsize(a.data)
    model = nn.Sequential(nn.Linear(record, 12), nn.ReLU(), nn.Linear(12, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rng = random.Random(a.seed)
    near = 256  # neighbouring records read after one seek, in random order
    fd = os.open(a.data, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    while time.monotonic() < a.end:
        rows = []
        for _ in range(4):
            first = rng.randrange(size // record - near)
            os.posix_fadvise(fd, first * record, near * record, os.POSIX_FADV_WILLNEED)
            order = list(range(first, first + near))
            rng.shuffle(order)
            rows += [os.pread(fd, record, k * record) for k in order]
        x = torch.frombuffer(bytearray(b"".join(rows)), dtype=torch.uint8).view(-1, record).float().div_(255)
        step(model, optimizer, x, (x.mean(1) > 0.5).long())
    os.close(fd)


def data(a):
    """Writes the data file and drops it from the page cache, so that the run which reads it pays for it."""
    rng = random.Random(a.seed)
    with open(a.file, "wb") as f:
        for _ in range(a.mib):
            f.write(rng.randbytes(MIB))
        f.flush()
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(dest="kind", required=True)
    q = sub.add_parser("data")
    q.add_argument("--mib", type=int, required=True)
    q.add_argument("--seed", type=int, default=0)
    q.add_argument("file")
    q.set_defaults(call=data)
    for call in (inmemory, streaming, dataloader, checkpoint, leak, cache):
        q = sub.add_parser(call.__name__, help=call.__doc__)
        q.add_argument("--data")
        q.add_argument("--scratch")
        q.add_argument("--mib", type=int, default=0, help="size of what the kind holds")
        q.add_argument("--seconds", type=float, default=60)
        q.add_argument("--seed", type=int, default=0)
        q.add_argument("--workers", type=int, default=2)
        q.add_argument("--every", type=float, default=12, help="seconds between checkpoints")
        q.set_defaults(call=call)
    a = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    random.seed(a.seed)
    if a.call is not data:
        a.end = time.monotonic() + a.seconds
    a.call(a)


if __name__ == "__main__":
    main()
