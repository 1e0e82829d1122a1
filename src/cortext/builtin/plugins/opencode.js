// From `cortext setup --plugin`; `cortext uninstall` takes it out again.
// Tells cortext that a session began or that a turn is over, so that what was said is kept.
// OpenCode does not wait for it, and does not notice when it fails: `cortext doctor` does.
import { spawn } from "node:child_process"

const EVENTS = ["session.created", "session.idle"]
const subAgents = new Set()

export const CortextPlugin = async ({ directory }) => ({
  event: async ({ event }) => {
    const { sessionID, info } = event.properties ?? {}
    const id = sessionID ?? info?.id
    if (!EVENTS.includes(event.type) || typeof id !== "string") return
    if (info?.parentID) subAgents.add(id)
    if (subAgents.has(id)) return
    try {
      // As an argument: OpenCode may end before a pipe is written to.
      const told = JSON.stringify({ session_id: id })
      const child = spawn("cortext", ["hook", "opencode", event.type, told], {
        cwd: directory,
        detached: true,
        stdio: "ignore",
      })
      child.on("error", () => {})
      child.unref()
    } catch {
      // The same as an error that comes later: nobody here can do anything about it.
    }
  },
})
