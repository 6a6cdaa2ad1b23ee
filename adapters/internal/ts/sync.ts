// Asking belay from a function that has to return its answer: a worker asks while the caller waits with a deadline.
// The plugin's own file is the worker's program, which calls serve.
import {
  isMainThread, MessageChannel, receiveMessageOnPort, Worker, workerData, type MessagePort,
} from "node:worker_threads"
import { ask, refusal, type Answer, type Settings } from "./ask"

const deadline = 30_000 // milliseconds; more than ask takes at most
const mark = "belay-asks"

/** Asker asks with one worker, which starts at the first question. */
export class Asker {
  private worker: Worker | undefined
  private port: MessagePort | undefined
  private readonly flag = new Int32Array(new SharedArrayBuffer(4))

  /** program is the URL of the plugin's file; patience is how long an answer may take, in milliseconds. */
  constructor(private readonly settings: Settings, private readonly program: string,
    private readonly patience: number = deadline) {}

  /** ask returns belay's answer. It never throws: an error is an answer that blocks. */
  ask(runtime: string, event: string, payload: string): Answer {
    try {
      const port = this.start()
      const before = Atomics.load(this.flag, 0)
      port.postMessage({ runtime, event, payload })
      const waited = Atomics.wait(this.flag, 0, before, this.patience)
      if (waited === "timed-out") throw new Error("the worker did not answer in time")
      const got = receiveMessageOnPort(port) as { message: Answer } | undefined
      if (!got) throw new Error("the worker gave no answer")
      return got.message
    } catch (e) {
      this.stop()
      return refusal(e)
    }
  }

  private start(): MessagePort {
    if (this.port) return this.port
    const { port1, port2 } = new MessageChannel()
    const data = { [mark]: true, settings: this.settings, port: port2, flag: this.flag }
    const worker = new Worker(new URL(this.program), { workerData: data, transferList: [port2], execArgv: [] })
    worker.unref()
    port1.unref()
    worker.on("error", () => this.stop())
    this.worker = worker
    this.port = port1
    return port1
  }

  /** stop ends the worker: an answer that comes too late is none to a later question. */
  private stop(): void {
    void this.worker?.terminate()
    this.port?.close()
    this.worker = undefined
    this.port = undefined
  }
}

/** serve answers questions where this is the worker of an Asker, and does nothing elsewhere. */
export function serve(): void {
  const data = workerData as { settings: Settings; port: MessagePort; flag: Int32Array; [mark]?: boolean } | null
  if (isMainThread || !data || data[mark] !== true) return
  const { settings, port, flag } = data
  port.on("message", (q: { runtime: string; event: string; payload: string }) => {
    void ask(settings, q.runtime, q.event, q.payload).then((answer) => {
      port.postMessage(answer)
      Atomics.add(flag, 0, 1)
      Atomics.notify(flag, 0)
    })
  })
}
