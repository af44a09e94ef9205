/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/node_folder.h"

#include "base/io.h"
#include "base/limits.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define FILE_BYTES (64 * KIB)

static const char *join(const char *root, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", root, name);
	return path;
}

/* The first line of a small file; files that are gone or hidden have none. */
static bool read_first_line(const char *root, const char *name, char *line, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(FILE_BYTES);
	struct err err = ERR_INIT;
	char path[PATH_MAX];

	if (io_read_file(join(root, name, path), &buf, &err))
		return false;
	str_to_line((struct str){strbuf_text(&buf), strcspn(strbuf_text(&buf), "\n")}, line, size);
	return line[0] != '\0';
}

/* The first line of a small file that begins so. */
static void add_line_of(const char *root, const char *name, const char *start, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf file = STRBUF_INIT(FILE_BYTES);
	struct err err = ERR_INIT;
	char path[PATH_MAX];
	const char *at;

	if (io_read_file(join(root, name, path), &file, &err))
		return;
	for (at = strbuf_text(&file); *at && !strstarts(at, start); at += *at == '\n')
		at += strcspn(at, "\n");
	strbuf_addf(buf, "%.*s\n", (int)strcspn(at, "\n"), at);
}

static bool exists(const char *root, const char *name)
{
	char path[PATH_MAX];

	return access(join(root, name, path), F_OK) == 0;
}

static void add_sysctls(const char *root, struct strbuf *buf)
{
	static const char *const names[] = {"overcommit_memory", "overcommit_ratio", "overcommit_kbytes",
					    "panic_on_oom", "min_free_kbytes"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char name[64], value[64];

		snprintf(name, sizeof(name), "proc/sys/vm/%s", names[i]);
		if (read_first_line(root, name, value, sizeof(value)))
			strbuf_addf(buf, "vm.%s = %s\n", names[i], value);
	}
}

static void add_limit(const char *root, const char *cgroup, const char *file, struct strbuf *buf)
{
	char name[96], value[64];

	snprintf(name, sizeof(name), "%s/%s", cgroup, file);
	if (read_first_line(root, name, value, sizeof(value)))
		strbuf_addf(buf, "/%s:%s\n", name, value);
}

#define CGROUP_BYTES 512 /* of a path; a longer one is not read, which bounds the depth as well */

struct walk {
	const char *root, *file;
	bool (*is_wanted)(const char *line);
	struct strbuf *buf;
	size_t n_left; /* cgroups that may still be read */
};

static bool is_kill_disabled(const char *line)
{
	return streq(line, "oom_kill_disable 1");
}

static bool is_bound(const char *line)
{
	return !streq(line, "max");
}

/* The first cgroup with such a first line in its file. @return whether there is one. */
static bool add_first(struct walk *self, const char *cgroup)
{
	char path[PATH_MAX], name[CGROUP_BYTES], line[64];
	struct dirent *entry;
	bool is_found;
	DIR *folder;

	snprintf(name, sizeof(name), "%s/%s", cgroup, self->file);
	is_found = read_first_line(self->root, name, line, sizeof(line)) && self->is_wanted(line);
	if (is_found)
		strbuf_addf(self->buf, "/%s:%s\n", name, line);
	folder = is_found ? NULL : opendir(join(self->root, cgroup, path));
	while (folder && !is_found && self->n_left && (entry = readdir(folder))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		self->n_left--;
		is_found = snprintf(name, sizeof(name), "%s/%s", cgroup, entry->d_name) < (int)sizeof(name) &&
			   add_first(self, name);
	}
	if (folder)
		closedir(folder);
	return is_found;
}

static void add_cgroups(const char *root, struct strbuf *buf)
{
	struct walk kills = {root, "memory.oom_control", is_kill_disabled, buf, LIMIT_TRIAGE_PROCESSES};
	struct walk bounds = {root, "memory.high", is_bound, buf, LIMIT_TRIAGE_PROCESSES};
	bool is_unified = exists(root, "sys/fs/cgroup/cgroup.controllers");
	static const char *const names[] = {"kubepods", "kubepods.slice", "memory/kubepods", "memory/kubepods.slice"};

	if (is_unified)
		strbuf_adds(buf, "cgroup2fs\n");
	else if (exists(root, "sys/fs/cgroup/memory"))
		strbuf_adds(buf, "tmpfs\n");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char name[64];

		snprintf(name, sizeof(name), "sys/fs/cgroup/%s", names[i]);
		if (!exists(root, name))
			continue;
		strbuf_addf(buf, "/%s\n", name);
		add_limit(root, name, "memory.max", buf);
		add_limit(root, name, "memory.limit_in_bytes", buf);
		if (is_unified)
			add_first(&bounds, name);
	}
	add_first(&kills, "sys/fs/cgroup/memory");
}

/* Only what says something: the kubelet, and what the OOM killer may not choose. */
static void add_process(const char *root, const char *pid, struct strbuf *buf)
{
	char name[300], comm[64], adj[64];

	snprintf(name, sizeof(name), "proc/%.32s/comm", pid);
	if (!read_first_line(root, name, comm, sizeof(comm)))
		return;
	snprintf(name, sizeof(name), "proc/%.32s/oom_score_adj", pid);
	if (read_first_line(root, name, adj, sizeof(adj)) && (streq(adj, "-1000") || streq(comm, "kubelet")))
		strbuf_addf(buf, "oom_score_adj=%s %s\n", adj, comm);
}

static void add_processes(const char *root, struct strbuf *buf)
{
	char path[PATH_MAX];
	DIR *folder = opendir(join(root, "proc", path));
	struct dirent *entry;

	for (size_t n = 0; folder && n < LIMIT_TRIAGE_PROCESSES && (entry = readdir(folder)); n++)
		if (isdigit((unsigned char)entry->d_name[0]) && buf->len + KIB <= buf->max)
			add_process(root, entry->d_name, buf);
	if (folder)
		closedir(folder);
}

int node_collect(const char *root, struct strbuf *buf, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf meminfo = STRBUF_INIT(FILE_BYTES);
	char path[PATH_MAX];
	int r = io_read_file(join(root, "proc/meminfo", path), &meminfo, err);

	if (r)
		return r;
	add_sysctls(root, buf);
	strbuf_add(buf, strbuf_text(&meminfo), meminfo.len);
	add_line_of(root, "proc/vmstat", "oom_kill ", buf);
	add_line_of(root, "proc/pressure/memory", "some ", buf);
	add_cgroups(root, buf);
	add_processes(root, buf);
	return buf->status ? err_set(err, buf->status, "no memory left") : 0;
}
