// The server, as the page sees it. The token comes in the address after #, which browsers keep to themselves, and stays in this tab.
export interface Upload {
  id: string;
  name: string;
  file: string;
  size: number;
  time: string;
}

export type JobState = "queued" | "running" | "done" | "failed" | "cancelled" | "interrupted";
export type Reading = Record<string, string | number | string[]>;

export interface JobRequest {
  upload: string;
  command: "fit" | "select" | "compare";
  family?: string;
  families?: string[];
  groups?: string | number;
  options?: Record<string, string>;
  seed?: number;
  time_limit?: number;
  reading?: Reading;
}

export interface Job {
  id: string;
  version: number; // grows with each change in the project: of two answers about a job the larger is the later
  upload: string;
  state: JobState;
  created: string;
  ended: string;
  request: JobRequest;
  command: string;
  message: string;
  result: { family: string; groups: number; loglik?: number } | null;
  progress?: { phase: string; step: number; limit: number; objective: number | null; seconds: number } | null;
  model: boolean;
  comparison: boolean;
  resumable: boolean; // it left its state, to go on from
}

export interface FamilyOption {
  name: string;
  default: string;
  min: number | null;
  max: number | null;
  choices?: string[];
  help: string;
}
export interface Family {
  name: string;
  summary: string;
  accepts: string[];
  options: FamilyOption[];
}

export interface Info {
  num_items: number;
  num_rankings: number;
  num_blank: number;
  num_overvoted?: number;
  num_skipped?: number;
  num_unique: number;
  num_voters?: number;
  kind: string;
  min_length: number;
  max_length: number;
  has_ties: boolean;
  unranked: string;
  strongly_connected: boolean;
  connectivity?: string;
  items: string[];
  first: number[];
  listed: number[];
  covariates: string[];
  warnings: string[];
}
export interface Understood {
  ok: boolean;
  command: string;
  problems?: string[];
  info?: Info;
  ballots?: { ranking: (string | string[])[]; weight?: number }[];
}

export interface Project {
  version: number; // of its last change
  uploads: Upload[];
  jobs: Job[];
  families: Family[];
  read_flags: string[];
}

const KEY = "caucus-token";
const HEADER = "X-Caucus-Token";

// Takes the token out of the address, so that it is neither copied nor shown with it.
function token(): string {
  const given = location.hash.slice(1);
  if (/^[a-z0-9]{32}$/.test(given)) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(KEY) ?? "";
}
const secret = typeof location === "undefined" ? "" : token(); // no page: a test of the parts

export class Refused extends Error {
  constructor(readonly status: number, text: string) {
    super(text);
  }
}

async function answer(response: Response): Promise<Response> {
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Refused(response.status, typeof body.error === "string" ? body.error : `the server answered ${response.status}`);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await answer(await fetch(`/api/${path}`, { headers: { [HEADER]: secret }, signal }))).json();
}
export async function blob(path: string): Promise<Blob> {
  return (await answer(await fetch(`/api/${path}`, { headers: { [HEADER]: secret } }))).blob();
}
export async function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  return (await answer(await fetch(`/api/${path}`, { method: "POST", headers: { [HEADER]: secret, "Content-Type": "application/json" }, body: JSON.stringify(body), signal }))).json();
}
export async function remove(path: string): Promise<void> {
  await answer(await fetch(`/api/${path}`, { method: "DELETE", headers: { [HEADER]: secret } }));
}

export function upload(file: File, progress: (share: number) => void): Promise<Upload> {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/uploads?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader(HEADER, secret);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("load", () => {
      let body: { error?: string } = {};
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // not ours: the status says enough
      }
      if (request.status === 200) done(body as Upload);
      else failed(new Refused(request.status, body.error ?? `the server answered ${request.status}`));
    });
    request.addEventListener("error", () => failed(new Error("the upload was cut off: the file may be too large, or the server is gone")));
    request.send(file);
  });
}

// Server-sent events, read by hand since EventSource sends no header; begins again when the server is back.
export async function listen(changed: (change: { jobs: Job[]; list?: boolean }) => void, connected: (state: "on" | "off" | "refused") => void): Promise<never> {
  for (;;) {
    try {
      const response = await answer(await fetch("/api/events", { headers: { [HEADER]: secret } }));
      connected("on");
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
          const line = text.slice(0, end);
          if (line.startsWith("data: ")) changed(JSON.parse(line.slice(6)));
        }
      }
      connected("off");
    } catch (error) {
      connected(error instanceof Refused && error.status === 401 ? "refused" : "off");
    }
    await new Promise((wait) => setTimeout(wait, 1000));
  }
}
