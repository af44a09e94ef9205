# SPDX-License-Identifier: Apache-2.0
"""Faults under a steady stream of pod creations, beside a control stream in a namespace that memtamer does not look at.

Whatever is done on purpose (pods deleted with grace, upgrades, rotations) may cost nothing: no pod refused, none
unpatched. Whatever breaks may cost patches, as many as the API server says that it failed open, but no pod: what is
refused beside a control stream that is refused too was not refused because of us. A table of it is printed.

MEMTAMER_FAULTS="clock uninstall" does only those whose name contains one of the words."""
import hashlib
import os
import shutil
import socket
import ssl
import threading
import time

import cluster
import configurations
from kit import wait_for
from release import Release, now, processes, service
from stream import Stream

WEBHOOK = "pods.memtamer.io"
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"
ROTATIONS = 6
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


class Leaves:
    """The certificates that the webhook's pods serve, looked at all the time."""

    def __init__(self, release):
        self.release, self.stop, self.seen, self.now = release, threading.Event(), [], {}
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stop.wait(0.5):
            try:
                for pod in self.release.pods("webhook"):
                    self.look(pod)
            except (AssertionError, OSError):
                pass  # the API server is away

    def look(self, pod):
        address = pod["status"].get("podIP")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with socket.create_connection((address, 8443), timeout=2) as plain, context.wrap_socket(plain) as tls:
                leaf = hashlib.sha256(tls.getpeercert(True)).hexdigest()
        except OSError:
            return
        if leaf not in self.seen:
            self.seen.append(leaf)

    def rotations(self):
        return len(self.seen) - 1

    def close(self):
        self.stop.set()
        self.thread.join()


class FailOpen:
    """How often the API server went on without our webhook for pods; counts on when the API server starts anew."""

    def __init__(self, t):
        self.t, self.started, self.base, self.last = t, None, 0, 0
        self.count()

    def count(self):
        text = self.t.cluster.call("GET", "/metrics").body
        started = cluster.sum_metric(text, "process_start_time_seconds", {})
        value = cluster.sum_metric(text, FAIL_OPEN, {"name": WEBHOOK}) or 0
        if started != self.started:
            self.base, self.started = self.base + self.last, started
        self.last = value
        return int(self.base + value)


class Scene:
    """The installation, the streams, and what came of each fault."""

    def __init__(self, t):
        self.t = t
        self.release = Release(t, {"config": {"webhook": {"tls": {"certLifetime": "1m", "caLifetime": "1h"}}},
                                   **configurations.PATIENT})
        self.release.install()
        self.watched = t.namespace(name="e2e-watched")
        self.control = t.namespace(name="e2e-control", labels={"memtamer.io/ignore": "true"})
        self.leaves = Leaves(self.release)
        t.at_end(self.leaves.close)
        self.stream = Stream(t, self.watched, self.control)
        self.fail_open = FailOpen(t)
        self.rows, self.troubles = [], []

    def settled(self, many=12, patched=True):
        """The last requests of this phase went well, the watched ones with a patch (or all without)."""
        wanted = "patched" if patched else "unpatched"
        for name, outcome in (("watched", wanted), ("control", "unpatched")):
            last = [one for one in self.stream.records(self.stream.name) if one.stream == name][-many:]
            if len(last) < many or any(one.outcome != outcome for one in last):
                return False
        return True

    def wait_settled(self, patched=True):
        wait_for(lambda: self.settled(patched=patched), f"{self.stream.name}: pods to be created as they should be",
                 patience=180)

    def fault(self, name, function, smooth=False, off=False, patched=True):
        """function(scene) under the streams, until all is well again. smooth: it may cost nothing at all; off: memtamer
        is switched off for a while; patched: how the last pods are to be."""
        words = os.environ.get("MEMTAMER_FAULTS", "").split()
        if words and not any(word in name for word in words):
            return
        before = self.fail_open.count()
        self.stream.phase(name)
        begin = now()
        trouble = None
        try:
            function(self)
            self.wait_settled(patched)
        except Exception as error:  # noqa: BLE001 - what it cost is worth knowing in any case
            trouble = error
            with open(self.t.path("trouble.txt"), "w", encoding="utf-8") as file:
                file.write(self.release.state() + self.release.logs("webhook"))
        seconds = now() - begin
        self.stream.phase("between")
        self.judge(name, begin, seconds, self.fail_open.count() - before, smooth, off)
        if trouble:
            raise trouble

    def judge(self, name, begin, seconds, opened, smooth, off):
        count = self.stream.count(name)
        self.rows.append((name, seconds, count, opened))
        watched, control = count["watched"], count["control"]

        def expect(true, what):
            if not true:
                self.troubles.append(f"{name}: {what}")
        if smooth:
            expect(watched.refused == watched.unanswered == 0, f"not created: {watched.said()}")
            expect(watched.unpatched == opened == 0, f"{watched.unpatched} unpatched, {opened} failed open")
            expect(watched.created > 0, "no pod was created")
            return
        # Where it is switched off the API server does not even try.
        as_counted = watched.unpatched >= opened if off else watched.unpatched == opened
        expect(as_counted, f"{watched.unpatched} unpatched, but {opened} failed open")
        expect(not any("webhook" in said or "memtamer" in said.replace("memtamer.test", "") for said in watched.said()),
               f"refused because of us: {watched.said()}")
        outage = outage_of(control, begin)
        ours = [one for one in watched.records if one.outcome in ("refused", "unanswered")
                and not (outage and outage[0] <= one.began_s <= outage[1])]
        expect(not ours, f"{len(ours)} not created while the control stream was fine: {ours[:3]}")

    def table(self):
        head = ("what happened", "s", "created", "patched", "unpatched", "failed open", "refused", "no answer",
                "control created", "refused", "no answer", "p50 ms", "p99 ms")
        lines = [head]
        for name, seconds, count, opened in self.rows:
            watched, control = count["watched"], count["control"]
            lines.append((name, f"{seconds:.0f}", watched.created, watched.patched, watched.unpatched, opened,
                          watched.refused, watched.unanswered, control.created, control.refused, control.unanswered,
                          f"{watched.quantile_ms(0.5):.0f}", f"{watched.quantile_ms(0.99):.0f}"))
        widths = [max(len(str(line[i])) for line in lines) for i in range(len(head))]
        return "\n".join("  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                                   for i, (cell, width) in enumerate(zip(line, widths))) for line in lines)


def outage_of(control, begin):
    """(from, to) in which the control stream itself got nowhere: to the first request after it that succeeded."""
    bad = [one for one in control.records if one.outcome in ("refused", "unanswered")]
    if not bad:
        return None
    last = max(one.began_s for one in bad)
    good = [one.began_s for one in control.records if one.began_s > last and one.outcome == "unpatched"]
    return begin, min(good, default=float("inf"))


# What is done on purpose ----------------------------------------------------------------------------------------------

def nothing(scene):
    pass


def each_pod_deleted(scene):
    for pod in scene.release.pods("webhook"):
        scene.t.kubectl("delete", "pod", pod["metadata"]["name"], namespace=scene.release.namespace)
        scene.release.wait_ready("webhook")


def upgrade(scene):
    """Every pod is replaced."""
    scene.release.upgrade({"webhook": {"podAnnotations": {"memtamer.test/upgraded": "true"}}})
    scene.release.wait_ready("webhook")


def recommender_deleted(scene):
    for pod in scene.release.pods("recommender"):
        scene.t.kubectl("delete", "pod", pod["metadata"]["name"], namespace=scene.release.namespace)
    scene.release.wait_ready("recommender")


def prometheus_down(scene):
    """Until a cycle of the recommender has failed."""
    def failed():
        return "level=error" in scene.release.logs("recommender") or "level=warn" in scene.release.logs("recommender")
    service("stop", "prometheus")
    try:
        wait_for(failed, "a cycle to fail")
    finally:
        service("start", "prometheus")


def rotations(scene):
    wait_for(lambda: scene.leaves.rotations() >= ROTATIONS, f"{ROTATIONS} rotations", patience=600)


# What breaks ----------------------------------------------------------------------------------------------------------

def kill_both():
    pids = processes("memtamer-webhook")
    assert len(pids) == 2, pids
    for pid in pids:
        os.kill(pid, 9)
    wait_for(lambda: not set(pids) & set(processes("memtamer-webhook")), "both to be gone")


def killed(scene):
    kill_both()
    scene.release.wait_ready("webhook")


def api_server_restarted(scene):
    service("restart", "kube-apiserver")


def etcd_paused(scene):
    """Until the API server has given up on it."""
    def given_up():
        return scene.t.cluster.request("GET", "/readyz/etcd").status == 500
    service("pause", "etcd")
    try:
        wait_for(given_up, "the API server to miss etcd")
    finally:
        service("resume", "etcd")


class Clock:
    """The webhook's wall clock, by libfaketime: the library and the offset come by a volume of the node."""

    def __init__(self, scene):
        self.folder = os.path.join(os.environ["MEMTAMER_CLUSTER"], "faketime")
        os.makedirs(self.folder, exist_ok=True)
        shutil.copy(FAKETIME, os.path.join(self.folder, "libfaketime.so"))
        self.shift("+0")
        scene.t.at_end(shutil.rmtree, self.folder, ignore_errors=True)
        self.values = {"webhook": {
            "extraVolumes": [{"name": "faketime", "hostPath": {"path": "/run/cluster/faketime"}}],
            "extraVolumeMounts": [{"name": "faketime", "mountPath": "/faketime", "readOnly": True}],
            "extraEnv": [{"name": name, "value": value} for name, value in (
                ("LD_PRELOAD", "/faketime/libfaketime.so"), ("FAKETIME_TIMESTAMP_FILE", "/faketime/offset"),
                # Clocks that are set do not stop time: intervals are measured by another one.
                ("FAKETIME_NO_CACHE", "1"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1"), ("DONT_FAKE_MONOTONIC", "1"),
                ("NO_FAKE_STAT", "1"), ("FAKETIME_DISABLE_SHM", "1"))]}}

    def shift(self, offset):
        path = os.path.join(self.folder, "offset")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(offset + "\n")
        os.replace(path + ".new", path)


def clock_installed(scene):
    scene.clock = Clock(scene)
    scene.release.upgrade(scene.clock.values)
    scene.release.wait_ready("webhook")


def clock_jumps(scene):
    """Weeks ahead, days back, and right again, with pods created each time: by the connections that are open, and,
    after both processes were killed, by new ones, whose certificates the API server judges by the right time (as they
    judge its own by the wrong one, and may not even become ready)."""
    def some_pods(what):
        seen = len(scene.stream.records(scene.stream.name))
        wait_for(lambda: len(scene.stream.records(scene.stream.name)) > seen + 40, f"pods at {what}")
    for offset, days in (("+20d", 20), ("-3d", -3), ("+0", 0)):
        scene.clock.shift(offset)
        some_pods(offset)
        if days:
            kill_both()
            wait_for(lambda: len(processes("memtamer-webhook")) == 2, "new processes")
            some_pods(f"{offset} by new processes")
            stamp = time.strftime("ts=%Y-%m-%d", time.gmtime(time.time() + 86400 * days))
            assert stamp in scene.release.logs("webhook"), f"no line of the log begins with {stamp}"


def dead_and_switched_off(scene):
    """With nobody there to answer: the label of the namespace, then the configuration, both within seconds."""
    t, release = scene.t, scene.release
    for component in ("webhook", "recommender"):
        t.kubectl("scale", "deployment", f"memtamer-{component}", "--replicas=0", namespace=release.namespace)
    wait_for(lambda: not processes("memtamer-webhook"), "the webhook to be gone")
    expect_called(scene, "it is gone")
    t.kubectl("label", "namespace", scene.watched, "memtamer.io/mode=off")
    expect_not_called(scene, "the namespace's label")
    t.kubectl("label", "namespace", scene.watched, "memtamer.io/mode-")
    expect_called(scene, "without the label")
    t.kubectl("delete", "mutatingwebhookconfiguration", "a0-memtamer")
    expect_not_called(scene, "deleting the configuration")
    release.upgrade()
    release.wait_ready("webhook")


def expect_called(scene, what):
    before = scene.fail_open.count()
    wait_for(lambda: scene.fail_open.count() > before, f"{what}: the API server to miss the webhook")


def expect_not_called(scene, what):
    """5 s is what is promised."""
    since, rose, last = now(), now(), scene.fail_open.count()

    def quiet():
        nonlocal rose, last
        seen = scene.fail_open.count()
        if seen != last:
            rose, last = now(), seen
        created = [one for one in scene.stream.records() if one.stream == "watched" and one.began_s > rose]
        return len(created) >= 30
    wait_for(quiet, f"{what} to be in effect")
    if rose - since >= 5:
        scene.troubles.append(f"{what} took {rose - since:.1f} s")


def uninstalled(scene):
    scene.release.uninstall()
    before = scene.fail_open.count()
    wait_for(lambda: scene.settled(many=30, patched=False), "pods to be created as before")
    assert scene.fail_open.count() == before, "the API server still asks for the webhook"


def test_pods_are_created_whatever_happens(t):
    scene = Scene(t)
    try:
        scene.wait_settled()
        scene.fault("nothing", nothing, smooth=True)
        first = len(scene.leaves.seen)
        scene.fault("each webhook pod deleted", each_pod_deleted, smooth=True)
        scene.fault("helm upgrade", upgrade, smooth=True)
        scene.fault("both recommenders deleted", recommender_deleted, smooth=True)
        scene.fault("Prometheus down", prometheus_down, smooth=True)
        scene.fault("certificate rotations", rotations, smooth=True)
        turns = len(scene.leaves.seen) - first
        scene.fault("kill -9 of both webhooks", killed)
        scene.fault("API server restarted", api_server_restarted)
        scene.fault("etcd paused", etcd_paused)
        scene.fault("helm upgrade to a false clock", clock_installed, smooth=True)
        scene.fault("clock +20d, -3d, right", clock_jumps)
        scene.fault("dead, and switched off", dead_and_switched_off, off=True)
        scene.fault("helm uninstall", uninstalled, off=True, patched=False)
    finally:
        print(scene.table(), flush=True)
    assert not scene.troubles, "\n".join(scene.troubles)
    total = scene.stream.count()["watched"]
    return (f"{total.created} pods beside {scene.stream.count()['control'].created} of the control stream; "
            f"{turns} rotations and all that is done on purpose: none refused, none unpatched")
