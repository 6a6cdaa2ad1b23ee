// Runs cases with OpenClaw's own hook runner, and prints what it makes of them: node runner.mjs DIST CASES
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
const [dist, file] = process.argv.slice(2)
const name = readdirSync(dist).find((n) =>
  n.endsWith(".mjs") && readFileSync(join(dist, n), "utf8").includes("function createHookRunner("))
const as = /createHookRunner as (\w+)/.exec(readFileSync(join(dist, name), "utf8"))[1]
const createHookRunner = (await import(pathToFileURL(join(dist, name)).href))[as]
const method = (hook) => "run" + hook.split("_").map((w) => w[0].toUpperCase() + w.slice(1)).join("")
const out = []
for (const c of JSON.parse(readFileSync(file, "utf8"))) {
  let ran = 0
  const handler = (v) => () => {
    ran++
    if (v === "throw") throw new Error("a plugin failed")
    return v ?? undefined
  }
  const typedHooks = c.values.map((v, i) =>
    ({ pluginId: `p${i}`, hookName: c.hook, priority: 0, source: "x", handler: handler(v) }))
  const runner = createHookRunner({ typedHooks, plugins: [] }, {})
  const event = { toolName: "exec", params: {}, messages: [], content: "c", payload: { text: "t" }, message: { role: "user", content: "original" } }
  let got = await runner[method(c.hook)](event, {})
  if (got?.requireApproval) delete got.requireApproval.pluginId // the runner's own
  if (c.hook === "before_agent_run") got = got?.decision
  if (c.hook === "skill_proposal_evaluate") got = got.find((o) => o.result?.decision === "block")?.result
  out.push({ got: got ?? null, ran })
}
console.log(JSON.stringify(out))
