import { spawnSync } from "node:child_process";

export const Belay = async ({ directory }) => {
  const tell = (said) => {
    try {
      spawnSync("BELAY", ["hook", "opencode"], { input: JSON.stringify({ directory, ...said }), timeout: 20000 });
    } catch {
      // Work goes on without belay; its status line tells.
    }
  };
  return {
    "chat.message": async (input, output) => {
      const parts = (output?.parts ?? []).filter((part) => part.type === "text").map((part) => part.text);
      tell({ event: "chat.message", sessionID: input?.sessionID, prompt: parts.join("\n") });
    },
    "tool.execute.before": async (input, output) => {
      const { sessionID, callID, tool } = input ?? {};
      tell({ event: "tool.execute.before", sessionID, callID, tool, args: output?.args });
    },
    "tool.execute.after": async (input) => {
      const { sessionID, callID, tool } = input ?? {};
      tell({ event: "tool.execute.after", sessionID, callID, tool });
    },
    event: async ({ event }) => {
      if (event?.type === "session.idle") {
        tell({ event: "session.idle", sessionID: event.properties?.sessionID });
      }
    },
  };
};
