#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""image.py PROGRAM NAME OUT.tar: a container image that is one static program, as `docker save` would write it.

For `ctr images import`: no registry, no builder. The same program gives the same bytes.
"""
import hashlib
import io
import json
import os
import platform
import sys
import tarfile


def tar_of(files):
    """A tar of {name: (bytes, mode)}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (content, mode) in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mode = mode
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def image_of(program, name):
    base = os.path.basename(program)
    with open(program, "rb") as file:
        layer = tar_of({base: (file.read(), 0o755)})
    config = json.dumps(
        {
            "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()],
            "os": "linux",
            "config": {"Entrypoint": ["/" + base], "Cmd": ["pause"], "User": "65534:65534"},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        }
    ).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    return tar_of({"manifest.json": (manifest, 0o644), config_name: (config, 0o644), "layer.tar": (layer, 0o644)})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with open(sys.argv[3], "wb") as out:
        out.write(image_of(sys.argv[1], sys.argv[2]))
