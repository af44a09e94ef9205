-- SPDX-License-Identifier: Apache-2.0
-- wrk script: posts the file named by BODY; prints one JSON line at the end.
local file = assert(io.open(os.getenv("BODY"), "rb"))
wrk.method = "POST"
wrk.body = file:read("*a")
wrk.headers["Content-Type"] = "application/json"
file:close()

function done(summary, latency)
	local errors = summary.errors
	io.write(string.format('RESULT {"requests":%d,"seconds":%.6f,"failed":%d,"p50_us":%.1f,"p99_us":%.1f}\n',
		summary.requests, summary.duration / 1e6,
		errors.connect + errors.read + errors.write + errors.status + errors.timeout,
		latency:percentile(50), latency:percentile(99)))
end
