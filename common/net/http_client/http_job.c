/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in the queue. Their strings and headers are copied, so that the caller may free its own. */
#include "base/limits.h"
#include "http_client/http_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int append_line(struct curl_slist **list, const char *line, struct err *err)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (!longer)
		return err_set(err, -ENOMEM, "out of memory");
	*list = longer;
	return 0;
}

/* Appends `name: value`, or for an empty value curl's `name;`. */
static int append_header(struct curl_slist **list, const char *name, const char *value, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(64 * KIB);

	if (!name || !*name || strpbrk(name, ":; \t") || str_has_control(str_c(name)))
		return err_set(err, -EINVAL, "bad name of a header: %s", name ? name : "");
	if (str_has_control(str_c(value)))
		return err_set(err, -EINVAL, "value of header %s holds a control character", name);
	if (strbuf_addf(&line, "%s%s%s", name, *value ? ": " : ";", value))
		return err_set(err, -ENOMEM, "header %s: out of memory or too long", name);
	return append_line(list, strbuf_text(&line), err);
}

int headers_append(struct curl_slist **list, const struct http_client_header *headers, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = append_header(list, headers[i].name, headers[i].value, err);
	return r;
}

void job_free(struct job *job)
{
	if (!job)
		return;
	lane_leave(job->lane);
	curl_slist_free_all(job->header_lines);
	free(job->path);
	free(job->method);
	free(job->body);
	free(job);
}

static int add_headers(const struct http_client *self, struct job *job, struct err *err)
{
	const struct http_request *request = &job->request;
	const char *type = request->content_type ? request->content_type : "application/x-www-form-urlencoded";
	int r = append_line(&job->header_lines, "Expect:", err); /* no "100-continue" round trip for large bodies */

	for (const struct curl_slist *line = self->header_lines; line && !r; line = line->next)
		r = append_line(&job->header_lines, line->data, err);
	if (!r && request->body)
		r = append_header(&job->header_lines, "Content-Type", type, err);
	return r ? r : headers_append(&job->header_lines, request->headers, request->n_headers, err);
}

static int copy_job(const struct http_client *self, struct job *job, const struct http_request *request,
		    struct err *err)
{
	job->request = *request;
	job->path = strdup(request->path ? request->path : "");
	job->method = request->method ? strdup(request->method) : NULL;
	job->body = request->body ? malloc(request->body_bytes + 1) : NULL;
	if (!job->path || (request->method && !job->method) || (request->body && !job->body))
		return err_set(err, -ENOMEM, "out of memory");
	if (str_has_control(str_c(job->path)) || strchr(job->path, ' '))
		return err_set(err, -EINVAL, "the path of a request holds a space or a control character");
	if (job->body)
		memcpy(job->body, request->body, request->body_bytes);
	return add_headers(self, job, err);
}

int http_client_submit(struct http_client *self, const struct http_request *request, struct err *err)
{
	struct job *job = calloc(1, sizeof(*job));
	int r;

	if (self->is_cancelling) {
		free(job);
		return err_set(err, -ECANCELED, "the requests are being cancelled");
	}
	if (!job)
		return err_set(err, -ENOMEM, "out of memory");
	r = copy_job(self, job, request, err);
	if (r) {
		job_free(job);
		return r;
	}
	job->lane = lane_enter(self, request->lane);
	*self->queue_tail = job;
	self->queue_tail = &job->next;
	return 0;
}
