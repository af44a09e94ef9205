# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/INSTALL.md and of the other pages for a cluster (PAGES), as they are written."""
import os
import re

from kit import TOP, wait_for
from release import PROMETHEUS, Release, script

REGISTRY = "registry.example.com/ml/"
PAGES = ("INSTALL.md", "OPERATIONS.md", "TRUST.md", "QUEUES.md", "ML-ENGINEERS.md", "TROUBLESHOOTING.md", "FIRST-30-DAYS.md")


def blocks(page):
    """The shell blocks of a page, in order."""
    with open(os.path.join(TOP, "docs", page), encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


def test_install_and_operations(t):
    """What differs from the page: where files are written, the image's name, the address of Prometheus, and patience."""
    replaced = {"--out memtamer.tar": f"--out {t.path('memtamer.tar')} --bin {os.environ['MEMTAMER_BIN']}",
                "--name memtamer:": f"--name {REGISTRY}memtamer:",
                "values.yaml": t.path("values.yaml"),
                # A machine that is slow must not be taken for a webhook that is gone.
                "config:\n  mode: observe": "webhook:\n  timeoutSeconds: 5\nconfig:\n  mode: observe",
                "http://prometheus-operated.monitoring.svc:9090": PROMETHEUS}
    release = Release(t)  # to clean up with, when a command fails
    t.at_end(release.remove)
    release.take_definitions()
    t.at_end(lambda: t.kubectl("delete", "namespace", "ml-team", "--ignore-not-found"))

    home = {f"HELM_{name}_HOME": t.folder for name in ("CACHE", "CONFIG", "DATA")}

    def run(text):
        for old, new in replaced.items():
            text = text.replace(old, new)
        return script("bash", "-euc", text + "\n", env={**os.environ, **home})

    image, install, learned, asked, namespace, ladder, uninstall, forget = blocks("INSTALL.md")
    stop_one, stop_all, well = blocks("OPERATIONS.md")
    see, uncap = blocks("TRUST.md")
    killed, = blocks("QUEUES.md")
    dry_run, = blocks("ML-ENGINEERS.md")
    run(image)
    script("tests/cluster/import", t.path("memtamer.tar"))
    said = run(install)
    assert "memtamer" in said and "Phase:" in said and "Succeeded" in said, said
    run(learned)
    run(asked)
    job = os.path.join(TOP, "demo/manifests/job-nothing-set.yaml")
    wait_for(lambda: t.kubectl("apply", "--dry-run=server", "-f", job).warnings, "the warnings of a dry run")
    run(dry_run)
    run(namespace)
    run(ladder)
    assert "ml-team" not in t.kubectl("get", "namespace", "-l", "memtamer.io/mode").out
    run(well)
    run(see)
    run(killed)
    for page in "TROUBLESHOOTING.md", "FIRST-30-DAYS.md":
        for block in blocks(page):
            run(block)
    assert t.get("namespaces", "ml-team")["metadata"]["labels"]["memtamer.io/mode"] == "enforce"
    t.create_profile({"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryProfile", "spec": {"modeCap": "observe"},
                      "metadata": {"name": "memtamer-namespace", "namespace": "ml-team"}})
    run(uncap)
    assert not t.get("memoryprofiles.memtamer.io/v1alpha1", "memtamer-namespace", "ml-team").get("spec")
    run(stop_one)
    run(stop_all)
    assert t.kubectl("get", "mutatingwebhookconfiguration", "a0-memtamer", check=False).status != 0
    t.kubectl("label", "namespace", "ml-team", "memtamer.io/mode-")
    run(uninstall)
    run(forget)
    return f"all {sum(len(blocks(page)) for page in PAGES)} shell blocks of {', '.join(PAGES)} do what the pages say"
