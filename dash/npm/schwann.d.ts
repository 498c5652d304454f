/** One stream of the list; more fields are in docs/web.md. */
export interface Stream {
  id: number;
  name: string;
  content: string;
  kind: "signal" | "markers";
  host: string;
  channels: number;
  format: string;
  nominal_rate: number;
  health: "listed" | "connecting" | "live" | "silent" | "stopped";
  lock: "plain" | "sealed" | "refused" | null;
  rate: number | null;
  trouble: string | null;
  [more: string]: unknown;
}

/** Traces: minimum and maximum per column and row. */
export interface Frame {
  generation: number;
  rows: number;
  columns: number;
  /** Seconds on the lab's clock at which it was sent. */
  now: number;
  indices: Float64Array;
  /** Shape: columns × rows × 2. */
  extremes: Float32Array;
}

export interface Marker { stream: number; time: number; text: string }

export interface Handlers {
  open?(): void;
  /** `wasOpen` is false if there was no connection at all. */
  closed?(wasOpen: boolean): void;
  silent?(): void;
  /** `role` is what the link lets this program do. */
  hello?(message: { version: string; role: "look" | "mark" | "record"; now: number; kept_seconds: number; kept_bytes: number }): void;
  streams?(message: { now: number; wall: number; streams: Stream[]; shown: unknown[] }): void;
  markers?(message: { markers: Marker[] }): void;
  frame?(frame: Frame): void;
  /** Handlers of other messages, by their type. The text is `token`, which stands beside them. */
  [type: string]: ((message: any) => void) | string | null | undefined;
}

export interface OutletOptions {
  name: string;
  content?: string;
  channels?: number;
  /** Hz; 0 for an irregular stream. */
  rate?: number;
  format?: "float32" | "double64" | "int32" | "string";
  source?: string;
  labels?: string[];
  unit?: string;
}

export interface Outlet {
  /** Samples × channels; `times` on the lab's clock, one per sample, or none for now. */
  push(samples: (number | string)[][], times?: number[] | null): boolean;
  close(): boolean;
}

export class Schwann {
  constructor(address: string | URL, options?: Handlers & { token?: string | null });
  readonly now: number | null;
  /** Seconds by which `now` may be wrong. It grows by 0.1 ms in each second since the dashboard was asked. */
  readonly bound: number;
  readonly isOpen: boolean;
  timeOf(milliseconds: number): number | null;
  send(message: object): boolean;
  ask(message: object): Promise<any>;
  synchronise(): Promise<unknown>;
  mark(text: string, milliseconds?: number): Promise<{ text: string; time: number }>;
  openOutlet(options: OutletOptions): Promise<Outlet>;
  /** Calls `silent` if the dashboard says nothing. A timer does so, too; a hidden page may call it from a worker's. */
  look(): void;
  close(): void;
}
