# SPDX-License-Identifier: Apache-2.0
"""`kubectl memtamer triage POD` against an API server made of a file of tests/triage/pods, through kubectl's proxy. The unit
test of the postmortem reads the same files without HTTP."""
import glob
import http.server
import json
import os
import threading
import urllib.parse

from harness import TOP, Case, run, with_kubectl

PLUGIN = "kubectl-memtamer"
LINES, TAIL, BYTES = "20000", "200", str(64 << 20)
OOM = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10.00 GiB of "
       "which 1.00 GiB is free. Including non-PyTorch memory, this process has 9.00 GiB memory in use. Of the allocated "
       "memory 5.00 GiB is allocated by PyTorch, and 3.50 GiB is reserved by PyTorch but unallocated.\n")


def cases():
    for path in sorted(glob.glob(os.path.join(TOP, "tests/triage/pods/*.json"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path).removesuffix(".json"), json.load(file)


class Server(http.server.ThreadingHTTPServer):
    """The objects of a case. `asked` has the paths of all requests."""
    daemon_threads = True

    def __init__(self, case):
        super().__init__(("127.0.0.1", 0), Handler)
        self.case, self.asked = case, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, path, query):
        """(status, body as text) of a GET."""
        if any(part in urllib.parse.unquote(path) for part in self.case.get("forbidden", [])):
            return self.refuse(403, "Forbidden", "nobody may read it")
        parts = path.strip("/").split("/")
        if parts[-1] == "log":
            return self.log(parts[-2], query)
        if parts[-1] == "pods":
            key, _, value = query["labelSelector"].partition("=")
            return self.listed("pods", lambda one: one["metadata"]["labels"].get(key) == value)
        if parts[-1] == "memoryprofiles":
            return self.listed("memoryprofiles", lambda one: True)
        if parts[-1] == "events":
            wanted = dict(part.split("=") for part in query["fieldSelector"].split(","))
            return self.listed("events", lambda one: one["metadata"]["namespace"] == parts[-2] and all(
                one["involvedObject"][key.removeprefix("involvedObject.")] == value for key, value in wanted.items()))
        for one in self.case.get(parts[-2], []):
            if one["metadata"]["name"] == parts[-1]:
                return 200, json.dumps(one)
        return self.refuse(404, "NotFound", f"{parts[-2]} \"{parts[-1]}\" not found")

    def log(self, pod, query):
        assert query["tailLines"] in (LINES, TAIL) and query["limitBytes"] == BYTES, query
        key = f"{pod}/{query['container']}" + ("/previous" if query.get("previous") == "true" else "")
        if key in self.case.get("logs", {}):
            return 200, self.case["logs"][key]
        return self.refuse(400, "BadRequest", f"previous terminated container \"{query['container']}\" not found")

    def listed(self, kind, chosen):
        return 200, json.dumps({"kind": "List", "metadata": {}, "items": [one for one in self.case.get(kind, []) if chosen(one)]})

    @staticmethod
    def refuse(code, reason, message):
        return code, json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
                                 "message": message})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # noqa: N802 - the name that the base class calls
        path, _, query = self.path.partition("?")
        self.server.asked.append(self.path)
        status, body = self.server.answer(path, dict(urllib.parse.parse_qsl(query)))
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if path.endswith("/log") and status == 200 else "application/json")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


class World(Case):
    """A test with an API server and a kubeconfig for it."""

    def serve(self, case):
        server = Server(case)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [],
                  "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                  "contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "ml"}}]}
        self.environment = with_kubectl(KUBECONFIG=self.write("kubeconfig", json.dumps(config)))
        return server

    def triage(self, *args, status=0):
        done = run(PLUGIN, "triage", *args, env=self.environment)
        self.assertEqual(done.returncode, status, done)
        return done

    def check(self, want, answer):
        for key in ("kind", "rule", "cause", "confidence", "rank", "step"):
            if key in want:
                self.assertEqual(answer[key], want[key], answer)
        for key, value in want.get("figures", {}).items():
            self.assertEqual(answer["figures"].get(key), value, answer)
        for key, texts in (("next", answer["next"]), ("unseen", answer["unseen"]), ("why", [answer["why"]]),
                           ("evidence", [one["text"] for one in answer["evidence"]]),
                           ("lever", [one["setting"] for one in answer["levers"]])):
            if key in want:
                self.assertTrue(any(want[key] in text for text in texts), (want[key], answer))
        if "not-why" in want:
            self.assertNotIn(want["not-why"], answer["why"])
        if "not-next" in want:
            self.assertNotIn(want["not-next"], "\n".join(answer["next"]))


class Cases(World):
    def test_cases(self):
        for name, case in cases():
            with self.subTest(name):
                self.serve(case)
                self.check(case["want"], json.loads(self.triage(case["ask"], "-o", "json").stdout))


class Pods(World):
    sample = True

    def test_what_is_asked(self):
        """Requests of one pod, each with the rights of whoever calls: its object, log, events, node and siblings."""
        case = dict(cases())["oomkilled-restarted"]
        server = self.serve(case)
        answer = json.loads(self.triage("train-0", "-n", "ml", "-o", "json").stdout)
        sources = {one["source"] for one in answer["evidence"]} | {one["source"] for one in answer["inputs"]}
        self.assertLessEqual({"pod/train-0 status", "event", "log of pod/train-0 container trainer", "node/node-a status"},
                             sources)
        self.assertIn("previous=true", next(path for path in server.asked if "/log" in path))
        self.assertEqual(len(server.asked), len(set(server.asked)), server.asked)
        self.assertLessEqual(len(server.asked), 7, server.asked)

    def test_claims(self):
        """At most four claims are read, each once, and none where nothing suggests that data filled the memory."""
        case = dict(cases())["oomkilled-claims"]
        spec = case["pods"][0]["spec"]
        spec["volumes"] = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"c{i % 6}"}} for i in range(9)]
        spec["containers"][0]["volumeMounts"] = [{"name": f"v{i}", "mountPath": f"/{i}"} for i in (0, 6, 1, 2, 3, 4, 5)]
        server = self.serve(case)
        answer = json.loads(self.triage("train-0", "-o", "json").stdout)
        claims = [path for path in server.asked if "/persistentvolumeclaims/" in path]
        self.assertEqual([path.rsplit("/", 1)[1] for path in claims], ["c0", "c1", "c2", "c3"])
        self.assertIn("persistentvolumeclaim/c0 was not read: it does not exist any more", "\n".join(answer["unseen"]))
        server = self.serve(dict(cases())["oomkilled-claims-in-training"])
        self.triage("train-0")
        self.assertFalse([path for path in server.asked if "/persistentvolumeclaims/" in path])

    def test_text_names_the_pod(self):
        self.serve(dict(cases())["oomkilled-no-limit"])
        said = self.triage("train-0").stdout
        self.assertIn("node-oom: the node ran out of memory (confidence: medium)", said)
        self.assertIn("pod/train-0 status: container trainer: terminated, reason OOMKilled, exit code 137", said)
        self.assertIn("kubectl describe node node-a", said)
        self.assertNotIn("triage train-0", said)

    def test_what_prometheus_would_tell(self):
        self.serve(dict(cases())["exit-137-only"])
        answer = json.loads(self.triage("train-0", "-o", "json").stdout)
        self.assertEqual(answer["rule"], "exit-137")
        self.assertIn("kubectl memtamer triage --config FILE -n ml train-0   #", answer["next"][0])

    def test_with_files(self):
        """A file of the command line counts for all pods: hardware first."""
        self.serve(dict(cases())["gang-first-death"])
        dmesg = self.write("dmesg.txt", "[1.0] NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off the bus.\n")
        answer = json.loads(self.triage("pytorchjob/llama", "--dmesg", dmesg, "-o", "json").stdout)
        self.assertEqual(answer["kind"], "gpu-fault")
        self.assertIn(dmesg, [one["source"] for one in answer["inputs"]])

    def test_kernel_log_of_the_node(self):
        """Kills of other pods, and errors of a GPU of another time, are not about the pods."""
        theirs, other = "0b5e5c1d-0000-4000-8000-00000000000a", "11111111-2222-3333-4444-555555555555"
        case = dict(cases())["gang-first-death"]
        case["pods"][-1]["metadata"]["uid"] = theirs
        self.serve(case)
        without = json.loads(self.triage("pytorchjob/llama", "-o", "json").stdout)
        kill = ("[100.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/kubepods/burstable/pod%s/0123456789ab,"
                "task_memcg=/kubepods/burstable/pod%s/0123456789ab,task=redis,pid=7,uid=0\n")
        for dmesg, words in ((kill % (other, other), f"in pod {other} (redis)"),
                             ("[Mon Oct  5 03:00:00 2026] NVRM: Xid (PCI:0000:65:00): 94, pid=1, contained\n", "another time")):
            answer = json.loads(self.triage("pytorchjob/llama", "--dmesg", self.write("dmesg.txt", dmesg), "-o", "json").stdout)
            for key in ("kind", "rule", "confidence", "rank", "why"):
                self.assertEqual(answer[key], without[key], answer)
            self.assertTrue(any(words in text for text in answer["unseen"]), answer["unseen"])
            self.assertFalse(any(one["signal"].startswith(("kernel", "xid")) for one in answer["evidence"]), answer["evidence"])
        ours = self.write("dmesg.txt", kill % (other, other) + kill % (theirs, theirs))
        answer = json.loads(self.triage("pytorchjob/llama", "--dmesg", ours, "-o", "json").stdout)
        self.assertEqual((answer["rule"], answer["confidence"], answer["rank"]), ("kernel-container", "high", 3), answer)
        self.assertIn(theirs, answer["evidence"][0]["text"])

    def test_long_log(self):
        """Only the end of a log is read, and it says so."""
        case = dict(cases())["oomkilled-main"]
        case["logs"]["train-0/trainer"] = "".join(f"step {i} loss 1.0\n" for i in range(20000))
        self.serve(case)
        answer = json.loads(self.triage("train-0", "-o", "json").stdout)
        self.assertEqual(answer["step"], 19999)
        self.assertTrue(any("only the end was read (20000 lines)" in text for text in answer["unseen"]), answer["unseen"])

    def test_large_log(self):
        """Of lines that are long as well, the last ones are kept."""
        case = dict(cases())["oomkilled-main"]
        case["logs"]["train-0/trainer"] = ("x" * 4000 + "\n") * 8000 + "step 8000 loss 1.0\n"
        self.serve(case)
        answer = json.loads(self.triage("train-0", "-o", "json").stdout)
        self.assertEqual(answer["step"], 8000)
        read = next(one for one in answer["inputs"] if one["source"].startswith("log of"))
        self.assertLess(read["lines"], 4200)
        self.assertTrue(any("only the end was read" in text for text in answer["unseen"]), answer["unseen"])

    def make_gang(self, ends):
        """Failed pods of one job, one for each of `ends`."""
        base = dict(cases())["gang-first-death"]["pods"][0]
        pods = []
        for i, end in enumerate(ends):
            one = json.loads(json.dumps(base))
            one["metadata"].update({"name": f"llama-worker-{i}", "uid": f"u{i}"})
            one["metadata"]["labels"].update({"training.kubeflow.org/replica-type": "worker",
                                              "training.kubeflow.org/replica-index": str(i)})
            one["spec"]["containers"][0]["env"] = [{"name": "RANK", "value": str(i)}]
            one["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = end
            pods.append(one)
        return pods

    def test_many_pods(self):
        """Logs of the first 16 pods that ended are read, and the others are counted."""
        pods = self.make_gang(f"2026-11-02T08:{59 - i}:00Z" for i in range(40))
        server = self.serve({"pods": pods, "logs": {"llama-worker-39/pytorch": "step 1\nMemoryError\n"}})
        answer = json.loads(self.triage("pytorchjob/llama", "-o", "json").stdout)
        self.assertEqual((answer["kind"], answer["rank"]), ("allocation-refused", 39), answer)
        self.assertEqual(sum("/log" in path for path in server.asked), 16)
        self.assertTrue(any("those of 24 others were not" in text for text in answer["unseen"]), answer["unseen"])

    def test_pods_that_end_together(self):
        """If the first 16 only lost their peers, or others ended in the same second, the ends of further logs are read."""
        lost, error = "step 3\nconnection closed by peer\n", "step 3\nValueError: bad label\n"
        together, apart = ["2026-11-02T08:25:00Z"] * 40, [f"2026-11-02T08:25:{i:02d}Z" for i in range(40)]
        for name, ends, first, others, rank, n in (
                ("others lost their peers", together, lost, lost, 9, 40), ("in other seconds", apart, lost, lost, 39, 40),
                ("the first of others", apart, lost, lost, 20, 21), ("ordinary errors", together, error, error, 9, 40),
                ("an error that came first", apart, error, lost, None, 16)):
            with self.subTest(name):
                logs = {f"llama-worker-{i}/pytorch": others if i else first for i in range(40)}
                if rank:
                    logs[f"llama-worker-{rank}/pytorch"] = "step 3\n" * 300 + OOM
                server = self.serve({"pods": self.make_gang(ends), "logs": logs})
                answer = json.loads(self.triage("pytorchjob/llama", "-o", "json").stdout)
                self.assertEqual((answer["kind"], answer["rank"]), ("fragmentation", rank) if rank else ("not-oom", 0), answer)
                asked = [path for path in server.asked if "/log" in path]
                self.assertEqual(len(asked), n)
                self.assertEqual(sum(f"tailLines={TAIL}&" in path for path in asked), n - 16)
                want = "24 others were not" if n == 16 else f"{n - 16} further ones the last 200 lines" if n > 17 else "further one"
                self.assertTrue(any(want in text for text in answer["unseen"]), answer["unseen"])

    def test_pods_that_all_lost_their_peers(self):
        """Of the logs of a very large gang only so many are read."""
        logs = {f"llama-worker-{i}/pytorch": "step 3\nconnection closed by peer\n" for i in range(200)}
        server = self.serve({"pods": self.make_gang(["2026-11-02T08:25:00Z"] * 200), "logs": logs})
        answer = json.loads(self.triage("pytorchjob/llama", "-o", "json").stdout)
        self.assertEqual((answer["kind"], answer["rule"]), ("not-oom", "collective-timeout"))
        self.assertEqual(sum("/log" in path for path in server.asked), 16 + 128)
        self.assertTrue(any("those of 56 others were not" in text for text in answer["unseen"]), answer["unseen"])

    def test_refusals(self):
        for case, args, status, words in (
                ({}, ["train-0"], 2, "there is no pod or job train-0 in namespace ml"),
                ({}, ["jobset/x", "-n", "other"], 2, "of jobset.jobset.x-k8s.io/x in namespace other"),
                ({}, ["deployment/x"], 2, "deployment: not a kind whose pods can be found; known are Pod, Job, "),
                ({}, ["Train_0"], 2, "not a name; give a pod, or KIND/NAME"),
                ({}, ["../../secrets"], 2, "not a name"),
                ({}, ["train-0", "-n", "../kube-system"], 2, "not the name of a namespace"),
                ({"forbidden": ["/pods/"]}, ["train-0"], 3, "nobody may read it"),
                ({"forbidden": ["/pods"]}, ["job/x"], 3, "nobody may read it"),
                ({}, ["train-0", "train-1"], 2, "")):
            with self.subTest(args=args):
                server = self.serve(case)
                done = self.triage(*args, status=status)
                self.assertEqual(done.stdout, "")
                self.assertIn(words, done.stderr)
                self.assertFalse([path for path in server.asked if ".." in path or "secrets" in path])

    def test_no_cluster(self):
        self.serve({})
        done = run(PLUGIN, "triage", "train-0", env=with_kubectl(KUBECONFIG=self.path("none"), HOME=self.folder))
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("no kubeconfig found", done.stderr)
        self.serve({})
        self.environment["FAKE_KUBECTL"] = "login"
        self.assertIn("executable login failed", self.triage("train-0", status=3).stderr)


def profile(name, workload, container="trainer", **recommendation):
    """A MemoryProfile of a workload of which runs are known."""
    return {"metadata": {"name": name, "namespace": "ml"},
            "status": {"workload": workload, "container": container, "aliases": [workload],
                       "recommendation": {"runs": 4, "wholeRuns": 3, "peak": "40Mi", "limit": "96Mi", **recommendation},
                       "diagnosis": {"kind": "container-limit", "cause": "loader-workers", "confidence": "high", "run": "train-7",
                                     "time": "2026-11-01T08:00:00Z", "evidence": "reason OOMKilled"}}}


class Recorded(World):
    """What the recommender has recorded of the workload's runs."""
    sample = True

    def ask(self, *args):
        return json.loads(self.triage(*args, "-o", "json").stdout)

    def case(self, *profiles, **labels):
        case = json.loads(json.dumps(dict(cases())["oomkilled-main"]))
        case["memoryprofiles"] = list(profiles)
        case["pods"][0]["metadata"]["labels"].update({"batch.kubernetes.io/job-name": "train", **labels})
        return case

    def recorded(self, answer):
        return [(one["source"], one["text"]) for one in answer["evidence"] if one["signal"] == "recorded"]

    def test_of_a_pod(self):
        killed = {"oomKills": 1, "proven": "64Mi"}
        self.serve(self.case(profile("other", "Job/other", flags=["leak"]), profile("train-1", "Job/train", **killed)))
        answer = self.ask("train-0")
        runs, diagnosis = self.recorded(answer)
        self.assertEqual(runs, ("memoryprofile/train-1 status", "Job/train container trainer: 4 runs, 3 complete, with a peak of "
                                "40.00 MiB; 1 killed for memory, at a limit of up to 64.00 MiB; recommended limit 96.00 MiB"))
        self.assertEqual(diagnosis[1], "last diagnosis: container-limit, cause loader-workers, confidence high, run train-7, "
                         "2026-11-01T08:00:00Z: reason OOMKilled")
        self.assertEqual(answer["figures"]["recommended_bytes"], 96 << 20)
        self.assertIn("resources: limits: memory: 96Mi", [one["setting"] for one in answer["levers"]])
        self.assertIsNone(answer["cause"])

    def test_leak(self):
        """The log knows better, and the profile of another container or pod does not count."""
        leak = profile("train-1", "Job/train", flags=["cache-bound", "leak"], limit="64Mi")
        for case, log, cause, limit in (
                (self.case(leak), "", "leak", "128Mi"),
                (self.case(leak), "Saving checkpoint to /ckpt/step_3\n", "checkpoint", "128Mi"),
                (self.case(leak, profile("train-2", "Job/train", "sidecar")), "", "leak", "128Mi"),
                (self.case(leak, profile("train-2", "Job/train")), "", None, "128Mi"),
                (self.case(leak, profile("train-2", "Job/train"), **{"memtamer.io/workload-id": "train-2"}), "", None, "96Mi")):
            case["logs"]["train-0/trainer"] = "step 3\n" + log
            self.serve(case)
            answer = self.ask("train-0")
            self.assertEqual((answer["kind"], answer["cause"]), ("container-limit", cause), answer)
            self.assertIn(f"resources: limits: memory: {limit}", [one["setting"] for one in answer["levers"]])
            self.assertEqual("grew until they ended" in answer["why"], cause == "leak", answer["why"])

    def test_beside_files(self):
        log = self.write("run.log", "step 9\nslurmstepd: error: Detected 1 oom_kill event in StepId=7.0.\n")
        killed = self.write("pod.txt", "State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137\n")
        server = self.serve(self.case(profile("train-1", "Job/train", flags=["leak"]), profile("nightly", "CronJob/train")))
        for args, want in ((("--log", killed, "--workload", "jobs.batch/train-20261101"), ("container-limit", "leak", 2)),
                           (("--log", killed, "--workload", "cronjob/train"), ("container-limit", None, 2)),
                           (("--log", killed, "--workload", "Job/none"), ("container-limit", None, 0)),
                           (("--log", log, "--workload", "Job/train"), ("container-limit", "slurm", 2)),
                           (("--workload", "Job/train"), ("unknown", None, 2))):
            answer = self.ask(*args, "-n", "ml")
            self.assertEqual((answer["kind"], answer["cause"], len(self.recorded(answer))), want, answer)
            noted = [text for text in answer["unseen"] if "There is no MemoryProfile of Job/none in namespace ml" in text]
            self.assertEqual(bool(noted), not want[2], answer["unseen"])
        self.assertEqual({path.partition("?")[0] for path in server.asked},
                         {"/apis/memtamer.io/v1alpha1/namespaces/ml/memoryprofiles"})

    def test_refusals(self):
        log = self.write("run.log", "MemoryError\n")
        case = self.case(profile("train-1", "Job/train"))
        case["forbidden"] = ["memoryprofiles"]
        self.serve(case)
        for args in (("train-0",), ("--log", log, "--workload", "Job/train")):
            answer = self.ask(*args)
            self.assertFalse(self.recorded(answer))
            self.assertIn("(list memoryprofiles): no right to read it", "\n".join(answer["unseen"]))
        self.assertIn("give KIND/NAME", self.triage("--workload", "", status=2).stderr)
        self.assertIn("not the name of a namespace", self.triage("--workload", "Job/a", "-n", "../x", status=2).stderr)

    def test_odd_profiles(self):
        """Anybody who may edit MemoryProfiles writes them."""
        odd = profile("train-1", "Job/train", runs="many", wholeRuns=None, peak=[], limit="900Ei", flags="leak", proven=-1)
        odd["status"]["diagnosis"] = {"kind": "x\u001b[31m" * 100, "evidence": {"a": 1}}
        self.serve(self.case(odd))
        answer = self.ask("train-0")
        self.assertEqual((answer["kind"], answer["cause"]), ("container-limit", None))
        self.assertNotIn("recommended_bytes", answer["figures"])
        self.assertNotIn("\u001b", json.dumps(self.recorded(answer), ensure_ascii=False))
