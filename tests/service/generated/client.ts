// A caller that knows the service by its description alone: `api.ts` is generated from /openapi.json.

import { readFile } from "node:fs/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type ErrorBody = components["schemas"]["ErrorBody"];

const { BASE_URL = "", ACCOUNT_ID = "", API_KEY = "", RECORDING = "", FIRST = "", SECOND = "" } = process.env;
const recording = new Blob([await readFile(RECORDING)], { type: "audio/flac" });
const headers = { "X-Account-ID": ACCOUNT_ID, "X-API-Key": API_KEY };
const api = createClient<paths>({ baseUrl: BASE_URL, headers });
const stranger = createClient<paths>({ baseUrl: BASE_URL, headers: { ...headers, "X-API-Key": "wrong" } });

function multipart(fields: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    form.append(name, value instanceof Blob ? value : String(value));
  }
  return form;
}

/** The answer; what the service refused is thrown. */
function accepted<T>(answer: { data?: T; error?: ErrorBody }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 200));

async function finished(jobId: string) {
  for (;;) {
    const job = accepted(await api.GET("/v2/jobs/{job_id}", { params: { path: { job_id: jobId } } }));
    if (job.status !== "queued" && job.status !== "running") return job;
    await pause();
  }
}

async function upload(): Promise<string> {
  const grant = accepted(await api.POST("/v2/audio/uploads", { body: { content_type: "audio/flac" } }));
  const put = await fetch(grant.upload_url, { method: "PUT", headers: grant.required_headers, body: recording });
  if (!put.ok) throw new Error(`PUT: ${put.status}`);
  return grant.upload_ref;
}

async function trajectory(groupId: string) {
  for (;;) {
    const read = accepted(await api.GET("/v2/groups/{group_id}/longitudinal", { params: { path: { group_id: groupId } } }));
    if (read.status !== "running") return read;
    await pause();
  }
}

const longitudinal = "/v2/signs/{sign_name}/groups/{group_id}/analyze/longitudinal";
const group = { path: { sign_name: "stress", group_id: "typescript" } };
const asFile = accepted(
  await api.POST(longitudinal, {
    params: group,
    // The generator has no type for a file.
    body: { audio: recording as unknown as string, diarize: false, recorded_at: FIRST },
    bodySerializer: multipart,
  }),
);
const reference = await upload();
const asReference = accepted(
  await api.POST(longitudinal, {
    params: group,
    body: { audio_upload_ref: reference, diarize: false, recorded_at: SECOND },
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
  }),
);
const inMultipart = accepted(
  await api.POST("/v2/models/{model_name}/analyze", {
    params: { path: { model_name: "breath" } },
    body: { audio_upload_ref: reference, diarize: false },
    bodySerializer: multipart,
  }),
);
const jobs = [];
for (const job of [asFile, asReference, inMultipart]) jobs.push(await finished(job.job_id));
const read = await trajectory("typescript");

const sign = (name: string) => ({ params: { path: { sign_name: name } } });
const refused = [
  (await stranger.GET("/v2/models")).error,
  (await api.GET("/v2/signs/{sign_name}", sign("nothing"))).error,
  (await api.POST("/v2/signs/{sign_name}/analyze", { ...sign("stress"), body: { diarize: false }, bodySerializer: multipart }))
    .error,
  (await api.GET("/v2/jobs", { params: { query: { page: -1 } } })).error,
];

console.log(
  JSON.stringify({
    groups: [asFile.group_id, asReference.group_id],
    recorded: [asFile.recorded_at, asReference.recorded_at],
    statuses: jobs.map((job) => job.status),
    sizes: jobs.map((job) => job.audio_size_bytes),
    done_jobs: read.done_job_count,
    data_points: read.data_points.length,
    refused: refused.map((each) => [each?.status, each?.code, each?.detail?.map((item) => item.loc)]),
  }),
);
