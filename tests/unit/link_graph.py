#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layers' graph: who may link and include whom.

link_graph.py graph    GRAPH.json SOURCE   what CMake links, against the table below
link_graph.py includes GRAPH.json SOURCE   what the files include, against the same table; no circles
link_graph.py selftest                     made-up violations are found
"""
import json
import os
import re
import sys
import tempfile

# Layer (folder of its headers) -> layers that it may use directly. What those use, it may use too.
ALLOWED = {
    "base": [],
    "yaml": ["base"],
    "cli": ["base"],
    "k8s": ["base"],
    "model": ["k8s"],
    "policy": ["model"],
    "config": ["policy", "k8s", "yaml"],
    "program": ["cli", "config", "store", "kube"],
    "metrics": ["base"],
    "net": ["base"],
    "kube": ["net", "k8s"],
    "store": ["model", "kube"],
}
PURE = ["base", "yaml", "k8s", "model", "policy"]
# Folders of the two programs: they may use every layer and their own parts, and never each other.
PROGRAMS = ["webhook", "recommender"]
# Third-party libraries a layer may link itself, by what CMake calls them.
LIBRARIES = {
    "base": {"PkgConfig::JSONC", "PkgConfig::ZLIB", "m"},
    "yaml": {"PkgConfig::YAML", "m"},
    "policy": {"m"},
    "model": {"m"},
    "metrics": {"m"},
    "net": {"PkgConfig::CURL", "PkgConfig::MHD", "PkgConfig::GNUTLS", "PkgConfig::OPENSSL", "Threads::Threads"},
    "store": {"Threads::Threads"},
    "program": {"Threads::Threads"},
}
# One TLS or HTTP library per target of net/.
NET_KINDS = [{"PkgConfig::CURL"}, {"PkgConfig::MHD", "PkgConfig::GNUTLS"}, {"PkgConfig::OPENSSL"}]
# Parts of net/ name their headers by their own folder.
NET_PARTS = {"http_client", "http_server", "pki"}
OURS = {"memtamer_warnings", "memtamer_sanitizers", "memtamer_hardening"}
FORBIDDEN_IN_PURE = re.compile(r"curl|mhd|microhttpd|gnutls|openssl|ssl|crypto|threads|pthread", re.IGNORECASE)
FORBIDDEN_HEADERS = re.compile(r"^(curl/|microhttpd|gnutls/|openssl/|pthread\.h|threads\.h|sys/socket|netinet/|arpa/)")
# A file that may include such a header all the same, and why.
HEADER_EXCEPTIONS = {
    ("common/base/hash.c", "pthread.h"): "pthread_once: the seed is drawn once a process",
}


def closure(layer, allowed):
    seen, todo = set(), [layer]
    while todo:
        for lower in allowed[todo.pop()]:
            if lower not in seen:
                seen.add(lower)
                todo.append(lower)
    return seen


def layer_of(directory):
    """common/net -> net; webhook/serve -> webhook; tests/... -> None."""
    parts = directory.split("/")
    if parts[0] == "common" and len(parts) > 1:
        return parts[1]
    return parts[0] if parts[0] in PROGRAMS + ["plugin"] else None


def plain(link):
    """The target inside a generator expression such as $<LINK_ONLY:x>."""
    while True:
        match = re.match(r"^\$<[^:]*:(.*)>$", link)
        if not match:
            return link
        link = match.group(1)


def graph_errors(graph):
    errors = []
    by_name = {row["target"]: row for row in graph}
    for row in graph:
        layer = layer_of(row["dir"])
        if layer is None:
            continue
        name = row["target"]
        if layer not in ALLOWED and layer not in PROGRAMS + ["plugin"]:
            errors.append(f"{name}: layer {layer} has no row in the table")
            continue
        links = [plain(link) for link in row["links"]]
        for link in links:
            if link in OURS or not link:
                continue
            if link in by_name:
                errors += edge_errors(name, layer, link, layer_of(by_name[link]["dir"]))
            elif layer in ALLOWED and link not in LIBRARIES.get(layer, set()):
                errors.append(f"{name}: layer {layer} may not link {link}")
        if layer == "net" and sum(any(link in kind for link in links) for kind in NET_KINDS) > 1:
            errors.append(f"{name}: one of curl, libmicrohttpd and OpenSSL a target, not several")
        if layer in PURE:
            for reached in sorted(reach(name, by_name)):
                if reached not in by_name and FORBIDDEN_IN_PURE.search(reached):
                    errors.append(f"{name}: pure layer {layer} reaches {reached}")
    return errors


def edge_errors(name, layer, link, other):
    if other is None:
        return [f"{name}: links {link}, which is no layer"]
    if layer in ALLOWED and other != layer and other not in closure(layer, ALLOWED):
        return [f"{name}: layer {layer} may not link {link} of {other}"]
    if layer in PROGRAMS and other in PROGRAMS and other != layer:
        return [f"{name}: {layer} and {other} never meet"]
    return []


def reach(name, by_name):
    seen, todo = set(), [name]
    while todo:
        row = by_name.get(todo.pop())
        for link in map(plain, row["links"] if row else []):
            if link not in seen:
                seen.add(link)
                todo.append(link)
    return seen


def include_errors(source):
    errors = []
    files = {}  # path below source -> quoted includes
    for top in ["common"] + PROGRAMS + ["plugin"]:
        for folder, _, names in os.walk(os.path.join(source, top)):
            for name in names:
                if name.endswith((".c", ".h", ".def")):
                    path = os.path.relpath(os.path.join(folder, name), source)
                    files[path] = scan_includes(os.path.join(folder, name))
    for path, includes in sorted(files.items()):
        layer = layer_of(os.path.dirname(path))
        for quoted, header in includes:
            errors += one_include(path, layer, quoted, header)
    return errors + circles(files)


def scan_includes(path):
    with open(path, encoding="utf-8") as file:
        return [(mark == '"', header)
                for mark, header in re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', file.read(), re.MULTILINE)]


def one_include(path, layer, quoted, header):
    if not quoted:
        if layer in PURE and FORBIDDEN_HEADERS.match(header) and (path, header) not in HEADER_EXCEPTIONS:
            return [f"{path}: pure layer {layer} includes <{header}>"]
        return []
    prefix = header.split("/")[0]
    if "/" not in header:
        return [f'{path}: "{header}" is not path-qualified']
    if layer in ALLOWED:
        own = os.path.basename(os.path.dirname(path))  # common/net/http_client names its headers by its own folder
        target = "net" if prefix in NET_PARTS else prefix
        if prefix not in (layer, own) and target not in closure(layer, ALLOWED):
            return [f'{path}: layer {layer} may not include "{header}"']
    elif layer in PROGRAMS:
        others = [other for other in PROGRAMS if other != layer]
        if prefix in others:
            return [f'{path}: {layer} may not include "{header}"']
    return []


def circles(files):
    """File-level circles among headers; a header is found by its last two path parts, as the build finds it."""
    by_include = {}
    for path in files:
        parts = path.split("/")
        by_include["/".join(parts[-2:])] = path
    state, errors = {}, []

    def visit(path, trail):
        if state.get(path) == "done":
            return
        if path in trail:
            errors.append("include circle: " + " -> ".join(trail[trail.index(path):] + [path]))
            return
        for quoted, header in files[path]:
            target = by_include.get("/".join(header.split("/")[-2:]))
            if quoted and target:
                visit(target, trail + [path])
        state[path] = "done"

    for path in sorted(files):
        visit(path, [])
    return errors


def selftest():
    """Every rule, broken once; and the same graph unbroken gives no error."""
    def target(name, directory, *links):
        return {"target": name, "type": "STATIC_LIBRARY", "dir": directory, "links": list(links)}

    good = [
        target("base", "common/base", "PkgConfig::JSONC", "memtamer_warnings", "$<LINK_ONLY:memtamer_hardening>"),
        target("k8s", "common/k8s", "base"), target("model", "common/model", "k8s"),
        target("policy", "common/policy", "model", "m"), target("pki", "common/net", "base", "PkgConfig::OPENSSL"),
        target("serve", "webhook/serve", "policy", "pki"), target("engine", "recommender/engine", "policy"),
        target("test_x", "tests/unit", "policy", "pki"),
    ]
    graphs = [
        ("upward edge", target("base", "common/base", "k8s"), "may not link k8s"),
        ("foreign library", target("k8s", "common/k8s", "base", "PkgConfig::CURL"), "may not link PkgConfig::CURL"),
        ("pure reaches TLS", target("policy", "common/policy", "model", "$<LINK_ONLY:pki>"), "reaches PkgConfig::OPENSSL"),
        ("pure with threads", target("model", "common/model", "k8s", "Threads::Threads"), "reaches Threads::Threads"),
        ("programs meet", target("serve", "webhook/serve", "engine"), "never meet"),
        ("two libraries in net", target("pki", "common/net", "PkgConfig::OPENSSL", "PkgConfig::CURL"), "not several"),
        ("unknown layer", target("new", "common/new", "base"), "has no row"),
        ("links a test", target("model", "common/model", "test_x"), "is no layer"),
    ]
    bad = []
    if graph_errors(good):
        bad.append(f"good graph: {graph_errors(good)}")
    for name, row, words in graphs:
        graph = [row] + [other for other in good if other["target"] != row["target"]]
        if not any(words in error for error in graph_errors(graph)):
            bad.append(f"{name}: not found in {graph_errors(graph)}")
    trees = [
        ("good tree", {"common/k8s/a.h": '#include "base/b.h"\n', "common/base/b.h": "#include <stdio.h>\n"}, None),
        ("upward include", {"common/base/b.h": '#include "k8s/a.h"\n', "common/k8s/a.h": ""}, "may not include"),
        ("bare include", {"common/base/b.c": '#include "b.h"\n', "common/base/b.h": ""}, "not path-qualified"),
        ("circle", {"common/base/a.h": '#include "base/b.h"\n', "common/base/b.h": '# include "base/a.h"\n'}, "circle"),
        ("pure and sockets", {"common/policy/p.c": "#include <openssl/evp.h>\n"}, "includes <openssl/evp.h>"),
        ("programs", {"webhook/serve/s.c": '#include "recommender/x.h"\n'}, "may not include"),
    ]
    for name, tree, words in trees:
        with tempfile.TemporaryDirectory() as folder:
            for path, text in tree.items():
                os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(text)
            errors = include_errors(folder)
        if bool(errors) != bool(words) or (words and not any(words in error for error in errors)):
            bad.append(f"{name}: got {errors}")
    return bad


def main():
    part = sys.argv[1]
    if part == "selftest":
        errors = selftest()
    elif part == "graph":
        with open(sys.argv[2], encoding="utf-8") as file:
            graph = json.load(file)
        layers = {layer_of(row["dir"]) for row in graph}
        errors = graph_errors(graph)
        if "base" not in layers:
            errors.append("the graph has no layer base: it was not written as expected")
    else:
        errors = include_errors(sys.argv[3])
    print("\n".join(errors) or "ok")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
