# SPDX-License-Identifier: Apache-2.0
"""triage on the corpus of messages, and its options, formats and refusals."""
import bz2
import ctypes
import glob
import gzip
import json
import lzma
import os
import re
import subprocess

from harness import PATIENCE, TOP, WRAP, Case, program, run

RECOMMENDER = "memtamer-recommender"
KEYS = {"apiVersion", "kind", "cause", "confidence", "rule", "why", "rank", "step", "checkpoint", "snapshot", "figures", "numbers",
        "progress", "settings", "evidence", "levers", "avoid", "next", "node", "unseen", "inputs"}
OOM = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10.00 GiB of "
       "which 1.00 GiB is free. Including non-PyTorch memory, this process has 9.00 GiB memory in use. Of the allocated "
       "memory 5.00 GiB is allocated by PyTorch, and 3.50 GiB is reserved by PyTorch but unallocated.\n")
HEALTHY = ("    FB Memory Usage\n        Total : 81920 MiB\n        Used : 3 MiB\n    ECC Errors\n        Volatile\n            "
           "DRAM Uncorrectable : 0\n        Aggregate\n            DRAM Uncorrectable : 2\n    Remapped Rows\n        "
           "Pending : No\n        Remapping Failure Occurred : No\n    Processes : None\n")


def triage(option, raw):
    done = subprocess.run(WRAP + [program(RECOMMENDER), "triage", option, "-", "-o", "json"], input=raw,
                          capture_output=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise AssertionError(f"status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def cases():
    """Name, header and raw bytes of each file of the corpus."""
    for path in sorted(glob.glob(os.path.join(TOP, "tests/triage/corpus/*.txt"))):
        with open(path, "rb") as file:
            head, raw = file.read().split(b"\n---\n", 1)
        lines = (line[2:].partition(": ") for line in head.decode().splitlines() if line.startswith("# "))
        yield os.path.basename(path), {key: value for key, _, value in lines}, raw


class Corpus(Case):
    def test_kinds(self):
        """`unknown` is no false alarm where nothing ran out of memory; the other way round counts as wrong."""
        for name, head, raw in cases():
            with self.subTest(name):
                answer = triage("--" + head["input"], raw)
                wanted = {head["kind"]} | ({"unknown"} if head["kind"] == "not-oom" else set())
                self.assertIn(answer["kind"], wanted, answer["why"])
                if "cause" in head:
                    self.assertEqual(answer["cause"], head["cause"], answer["why"])


def nodes():
    """Name, header and text of each recorded node."""
    for path in sorted(glob.glob(os.path.join(TOP, "tests/triage/node/*.txt"))):
        with open(path, encoding="utf-8") as file:
            head, text = file.read().split("\n---\n", 1)
        yield os.path.basename(path), dict(line[2:].split(": ", 1) for line in head.splitlines()), text


class Node(Case):
    def ask(self, *args, **kwargs):
        done = run(RECOMMENDER, "triage", *args, "-o", "json", **kwargs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_recorded_nodes(self):
        log = self.write("run.log", "step 3\nMemoryError\n")
        for name, head, text in nodes():
            with self.subTest(name):
                answer = self.ask("--node", "-", "--log", log, stdin=text)
                self.assertEqual(" ".join(finding["name"] for finding in answer["node"]), head["findings"])
                self.assertEqual((answer["kind"], answer["cause"]), ("allocation-refused", head.get("cause")))
                assumed = [line for line in answer["unseen"] if "without Kubernetes" in line]
                self.assertEqual(bool(assumed), head["kubernetes"] == "no", answer["unseen"])
                advised = [finding["action"] for finding in answer["node"] if finding["action"]]
                self.assertNotIn("overcommit_memory=2", " ".join(advised))

    def test_formats(self):
        node = self.path("node.txt")
        self.write("node.txt", {name: text for name, _, text in nodes()}["dedicated-strict-half.txt"])
        log = self.write("run.log", "MemoryError\n")
        for output in ("text", "markdown"):
            done = run(RECOMMENDER, "triage", "--log", log, "--node", node, "-o", output)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("2.96 GiB of 133.82 GiB may still be committed, while 234.70 GiB are available", done.stdout)
            self.assertIn("sysctl -w vm.overcommit_memory=0", done.stdout)
            self.assertIn("vm.overcommit_memory = 2", done.stdout)

    def make_node(self, **files):
        for name, text in {"proc/meminfo": "MemTotal: 4194304 kB\nSwapTotal: 0 kB\n", **files}.items():
            os.makedirs(os.path.dirname(self.path("node/" + name)), exist_ok=True)
            self.write("node/" + name, text)
        return self.path("node")

    def test_folder(self):
        folder = self.make_node(**{"proc/sys/vm/overcommit_memory": "1\n", "sys/fs/cgroup/cgroup.controllers": "",
                                "proc/7/comm": "kubelet\n", "proc/7/oom_score_adj": "-999\n", "proc/8/comm": "python3\n",
                                "proc/8/oom_score_adj": "-1000\n", "proc/9/comm": "gone\n",
                                "proc/vmstat": "nr_free_pages 5\noom_kill 2\nhtlb_buddy_alloc_success 0\n",
                                "proc/pressure/memory": "some avg10=1.00 avg60=9.00 avg300=30.20 total=7\nfull avg10=0.00\n"})
        answer = self.ask("--node", folder)
        self.assertEqual([finding["name"] for finding in answer["node"]],
                         ["oom-score-exempt", "memory-pressure", "oom-kills", "no-swap", "overcommit-expected", "cgroup-v2"])
        self.assertEqual((answer["kind"], answer["unseen"]), ("unknown", []))
        self.assertEqual(answer["inputs"][0]["source"], folder)

    def test_folder_of_cgroup_v1(self):
        """The OOM killer of one container is turned off; nothing is reserved for the system."""
        pods = "sys/fs/cgroup/memory/kubepods/"
        folder = self.make_node(**{pods + "memory.limit_in_bytes": "9223372036854771712\n",
                                   pods + "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n",
                                   pods + "besteffort/pod0/c/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n",
                                   pods + "burstable/pod1/c/memory.oom_control": "oom_kill_disable 1\nunder_oom 1\n"})
        answer = self.ask("--node", folder)
        self.assertEqual([finding["name"] for finding in answer["node"]],
                         ["oom-kill-disabled", "nothing-reserved", "cgroup-v1", "no-swap"])

    def test_folder_with_memory_qos(self):
        pods = "sys/fs/cgroup/kubepods.slice/"
        folder = self.make_node(**{"sys/fs/cgroup/cgroup.controllers": "", pods + "memory.high": "max\n",
                                   pods + "kubepods-burstable.slice/a.slice/memory.high": "max\n",
                                   pods + "kubepods-burstable.slice/a.slice/b.scope/memory.high": "1932735283\n"})
        answer = self.ask("--node", folder)
        self.assertEqual([finding["name"] for finding in answer["node"]], ["memory-throttled", "no-swap", "cgroup-v2"])

    def test_this_machine(self):
        names = {finding["name"] for finding in self.ask("--node", "/")["node"]}
        self.assertTrue(names & {"swap", "no-swap"}, names)
        self.assertTrue(any(name.startswith("overcommit-") for name in names), names)

    def test_bad_input(self):
        for text in ("", "\0" * 5000, "vm.overcommit_mem", "all is well\n" * 1000):
            with self.subTest(text[:20]):
                answer = self.ask("--node", "-", stdin=text)
                self.assertEqual((answer["kind"], answer["node"], len(answer["unseen"])), ("unknown", [], 4 + ("\0" in text)))
        os.makedirs(self.path("empty"))
        done = run(RECOMMENDER, "triage", "--node", self.path("empty"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("proc/meminfo", done.stderr)
        done = run(RECOMMENDER, "triage", "--node", "/", "--node", "/")
        self.assertEqual(done.returncode, 2)
        done = run(RECOMMENDER, "triage", "--node", "-", "--log", "-", stdin="")
        self.assertEqual(done.returncode, 2)


def zstd(data):
    """Python has no module for it; the programs are linked with the library."""
    library = ctypes.CDLL("libzstd.so.1")
    out = ctypes.create_string_buffer(len(data) + 4096)
    n = library.ZSTD_compress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:n]


class Triage(Case):
    sample = True

    def test_json(self):
        answer = triage("--log", ("[rank2]: step 7\n[rank2]: " + OOM).encode())
        self.assertEqual(set(answer), KEYS)
        self.assertEqual((answer["kind"], answer["rank"], answer["step"]), ("fragmentation", 2, 7))
        self.assertEqual(answer["figures"]["tried_bytes"], 2 << 30)
        self.assertEqual((answer["evidence"][0]["source"], answer["evidence"][0]["line"]), ("-", 2))
        self.assertEqual([lever["order"] for lever in answer["levers"]], [1, 2, 3])
        self.assertIn("expandable_segments:True", answer["levers"][0]["setting"])
        self.assertFalse(any("batch" in lever["action"] for lever in answer["levers"]))

    def test_files_of_ranks(self):
        with open(self.path("rank1.log.gz"), "wb") as file:
            file.write(gzip.compress(OOM.encode()))
        done = run(RECOMMENDER, "triage", "--log", self.write("rank0.log", "step 1\n"), "--log", self.path("rank1.log.gz"),
                   "-o", "json")
        self.assertEqual(json.loads(done.stdout)["rank"], 1)
        for text in ("text", "markdown"):
            done = run(RECOMMENDER, "triage", "--log", self.path("rank1.log.gz"), "-o", text)
            self.assertEqual(done.returncode, 0)
            self.assertIn("fragmentation", done.stdout)

    def test_compressed_logs(self):
        log = (OOM + "all is well\n" * 300000).encode()
        whole = {"gzip": gzip.compress(log), "members": gzip.compress(OOM.encode()) + gzip.compress(b"well\n" * 9),
                 "padded": gzip.compress(log) + bytes(512), "zstd": zstd(log), "frames": zstd(OOM.encode()) + zstd(b"well\n" * 9)}
        for name, raw in whole.items():
            with self.subTest(name):
                answer = triage("--log", raw)
                self.assertEqual(answer["evidence"][0]["text"], OOM.strip().splitlines()[0][:512])
                self.assertFalse(answer["inputs"][0]["damaged"])
        for pack in (gzip.compress, zstd):
            raw = pack(log)
            for part in (raw[:len(raw) - 5], raw[:len(raw) // 2] + b"\xff" * 64 + raw[len(raw) // 2 + 64:]):
                with self.subTest(pack.__name__, n=len(part)):
                    self.assertTrue(triage("--log", part)["inputs"][0]["damaged"])

    def test_bytes_of_any_kind(self):
        for raw in (b"", b"\0" * 100000, bytes(range(256)) * 100, OOM.encode("utf-16"), b"\x1f\x8b\x08broken",
                    b"x" * 200000 + b"\n" + OOM.encode()):
            with self.subTest(raw[:20]):
                self.assertIn(triage("--log", raw)["kind"], ("unknown", "fragmentation"))
        self.assertEqual(triage("--log", OOM.encode("utf-16"))["kind"], "fragmentation")

    def test_unread_forms(self):
        """What was not read is said, and how to read it."""
        text = ("step 3\n" + OOM).encode()
        for name, raw, kind, said in (
                ("xz", lzma.compress(text), "unknown", "was not read: it is compressed with xz; unpack it first."),
                ("bzip2", bz2.compress(text), "unknown", "was not read: it is compressed with bzip2; unpack it first."),
                ("noise", bytes(range(256)) * 4, "unknown", "begins with binary data; only what of it is text was read."),
                ("noise and a log", bytes(range(256)) + b"\n" + text, "fragmentation", "begins with binary data"),
                ("UTF-16 without a mark", text.decode().encode("utf-16-le"), "fragmentation", ""),
                ("UTF-16 of the other end", text.decode().encode("utf-16-be"), "fragmentation", "")):
            with self.subTest(name):
                answer = triage("--log", raw)
                self.assertEqual(answer["kind"], kind, answer)
                self.assertEqual(len(answer["unseen"]), int(bool(said)), answer["unseen"])
                self.assertIn(said, "".join(answer["unseen"]))

    def test_figures_of_the_document(self):
        """The figures stand in each message where docs/TRIAGE.md marks them."""
        names = {"T": "tried", "C": "capacity", "F": "free", "P": "process", "A": "allocated", "R": "reserved", "U": "unallocated"}
        with open(os.path.join(TOP, "docs/TRIAGE.md"), encoding="utf-8") as file:
            block = re.search(r"NAME\[figure\]:\n\n```text\n(.*?)```", file.read(), re.DOTALL)[1]
        for head, text in re.findall(r"# (.*)\n((?:[^#].*\n)+)", block):
            with self.subTest(head):
                figures = triage("--log", re.sub(r"[A-Z]\[(.*?)\]", r"\1", text).encode())["figures"]
                for name, amount, unit in re.findall(r"([A-Z])\[([\d.]+) ?(G?)", text):
                    want = float(amount) * (1 << 30 if unit else 1)
                    self.assertAlmostEqual(figures[names[name] + "_bytes"], want, delta=2)

    def test_files_of_another_form(self):
        """A log as nvidia-smi's output, and the other way round: nothing of the file's form is in it."""
        smi = b"index, uuid, memory.total [MiB], memory.used [MiB]\n0, GPU-1, 81920 MiB, 81000 MiB\n"
        for option, text, said in (("--nvidia-smi", ("step 3\n" + OOM).encode(), "a log is given with --log."),
                                   ("--nvidia-smi", smi, ""),
                                   ("--nvidia-smi", b"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n", ""),
                                   ("--log", smi, "give it with --nvidia-smi."),
                                   ("--log", ("step 3\n" + OOM).encode(), "")):
            with self.subTest(option=option, said=said):
                answer = triage(option, text)
                self.assertEqual(len(answer["unseen"]), int(bool(said)), answer["unseen"])
                self.assertIn(said, "".join(answer["unseen"]))

    def test_what_prometheus_would_tell(self):
        for text, is_said in (("exit code 137\n", True), ("RuntimeError: DataLoader worker (pid 3) is killed by signal: Killed.\n", True),
                              ("hello\n", False), ("step 1\n" + OOM, False)):
            answer = triage("--log", text.encode())
            self.assertEqual("--config FILE" in answer["next"][0], is_said, answer["next"])

    def test_trainer_without_steps(self):
        """An epoch with a fraction: the run was behind its first step."""
        full = OOM.replace("3.50 GiB is reserved", "0.50 GiB is reserved")
        for text, cause in (("{'loss': 2.31, 'learning_rate': 4.9e-05, 'epoch': 0.02}\n" + full, "growth"),
                            ('{"loss": 2.31, "epoch": 1.5}\n' + full, "growth"),
                            ("{'loss': 2.31, 'epoch': 0.0}\n" + full, None),
                            ("Epoch 1\n" + full, None)):
            answer = triage("--log", text.encode())
            self.assertEqual((answer["kind"], answer["cause"]), ("true-oom", cause), text)

    def test_healthy_card(self):
        self.assertEqual(triage("--nvidia-smi", HEALTHY.encode())["kind"], "unknown")
        self.assertEqual(triage("--nvidia-smi", HEALTHY.replace("Used : 3 ", "Used : 60000 ").encode())["kind"], "co-tenant")

    def test_bad_input(self):
        for args in ([], ["--log", self.path("missing")], ["--log", TOP], ["--log", "-", "--dmesg", "-"],
                     ["--log", "-", "-o", "yaml"]):
            done = run(RECOMMENDER, "triage", *args, stdin="")
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn("memtamer-recommender", done.stderr)
