// What the project holds, kept up to date by the server's events.
import { get, listen, type Family, type Job, type Project, type Upload } from "./api";

export class Store {
  uploads = new Map<string, Upload>();
  jobs = new Map<string, Job>();
  families: Family[] = [];
  readFlags = new Set<string>();
  connection: "on" | "off" | "refused" = "off";
  private listeners: (() => void)[] = [];
  private version = -1; // of the list held

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }
  private tell(): void {
    for (const listener of this.listeners) listener();
  }
  async load(): Promise<void> {
    this.take(await get<Project>("project"));
  }
  // Answers and events may overtake each other: what is older than what is held changes nothing.
  take(project: Project): void {
    if (project.version < this.version) return;
    this.version = project.version;
    this.uploads = new Map(project.uploads.map((one) => [one.id, one]));
    const since = [...this.jobs.values()].filter((one) => one.version > project.version);
    this.jobs = new Map([...project.jobs, ...since].map((one) => [one.id, one]));
    this.families = project.families;
    this.readFlags = new Set(project.read_flags);
    this.tell();
  }
  put(...jobs: Job[]): void {
    for (const job of jobs) if (job.version >= (this.jobs.get(job.id)?.version ?? 0)) this.jobs.set(job.id, job);
    this.tell();
  }
  start(): void {
    void listen((change) => {
      if (change.list) void this.load().catch(() => undefined);
      this.put(...change.jobs);
    }, (state) => {
      const back = state === "on" && this.connection !== "on";
      this.connection = state;
      if (back) void this.load().catch(() => undefined);
      this.tell();
    });
  }
  jobsOf(upload: string): Job[] {
    return [...this.jobs.values()].filter((job) => job.upload === upload).sort((a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1 : a.id < b.id ? 1 : -1));
  }
  // Fits that differ from this one in the number of groups alone, fewest groups first; of equal ones the newest.
  siblings(job: Job): Job[] {
    const settings = ({ request }: Job) => JSON.stringify([request.reading ?? {}, request.options ?? {}]);
    const same = (other: Job) => other.model && other.result && other.result.family === job.result?.family && settings(other) === settings(job);
    const byGroups = new Map<number, Job>();
    for (const other of this.jobsOf(job.upload).reverse()) if (same(other)) byGroups.set(other.result!.groups, other);
    if (job.result) byGroups.set(job.result.groups, job);
    return [...byGroups.values()].sort((a, b) => a.result!.groups - b.result!.groups);
  }
}

export function jobTitle(job: Job): string {
  const { command, family, families, groups } = job.request;
  if (command === "compare") return `comparison of ${families?.length ? families.join(", ") : "families"}`;
  const many = job.result && job.model ? job.result.groups : undefined;
  const wanted = many !== undefined ? (many === 1 ? "1 group" : many === 0 ? "no groups" : `${many} groups`) : groups && groups !== "auto" ? `${groups} groups` : "as many groups as the ballots show";
  const formula = job.request.options?.membership;
  return `${job.result?.family ?? family ?? "pl"}, ${wanted}${formula ? `, explained by ${formula}` : ""}`;
}
