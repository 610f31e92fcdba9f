// Has Cursor's own code read the hooks that belay wrote and run them, for one turn. Usage: cursor-turn.cjs SDK WORKSPACE PROMPT COMMAND
//
// SDK is the directory of the npm package @cursor/sdk, which holds what Cursor's agent does on a machine: it finds, checks and
// merges hooks files (Claude Code's among them), runs each hook as Cursor does and judges its answer. It offers no way to do
// only that, so this names the function inside of it by what it does. The model and Cursor's servers have no part in it.
const { execSync } = require("node:child_process");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");

const [sdk, workspace, prompt, command] = process.argv.slice(2);
const dist = path.join(sdk, "dist", "cjs");

/** Source texts of the package, with a way in. */
const opened = (file, text) => {
  const outside = text.replace("module.exports=__webpack_exports__", (end) => `globalThis.cursorRequire=__webpack_require__,${end}`);
  const runtime = /async function (\w+)\(e,t=\{\}\)\{const r=await new \w+\(new \w+,function\(e,t\)\{[^}]{0,400}includeProjectHooks/;
  return outside.replace(runtime, (start, name) => `globalThis.cursorHooks=(...all)=>${name}(...all);${start}`);
};
const compile = Module.prototype._compile;
Module.prototype._compile = function (text, file) {
  return compile.call(this, file.startsWith(dist) ? opened(file, text) : text, file);
};

const main = async () => {
  const index = path.join(dist, "index.js");
  const [, chunks] = /Promise\.all\(\[([^\]]+)\]\)\.then\(__webpack_require__\.bind\(__webpack_require__,"\.\/src\/agent\/local-executor\.ts"\)/.exec(
    fs.readFileSync(index, "utf8"),
  );
  require(index);
  await Promise.all(chunks.match(/\d+/g).map((chunk) => globalThis.cursorRequire.e(Number(chunk))));
  globalThis.cursorRequire("./src/agent/local-executor.ts");
  const runtime = await globalThis.cursorHooks({ projectRoot: workspace, workingDirectory: workspace, workspaceRoots: [workspace] });
  const { errors } = runtime.hooksConfig;
  if (errors.length > 0) throw new Error(`Cursor cannot read the hooks: ${JSON.stringify(errors)}`);
  const { hookExecutor } = runtime.createSessionRuntime();
  const ran = [];
  hookExecutor.onHookExecution = (one) => ran.push(one);
  const about = { conversation_id: "c-1", generation_id: "g-1", model: "scripted" };
  const fire = async (step, more) => {
    const answer = (await hookExecutor.executeHookForStep(step, { ...about, ...more })) ?? {};
    const refuses = answer.permission === "deny" || answer.permission === "ask" || answer.continue === false;
    if (refuses) throw new Error(`${step} was refused: ${JSON.stringify(answer)}`);
  };
  const shell = { tool_name: "Shell", tool_input: { command, cwd: "" }, tool_use_id: "tool-1" };
  const file = path.join(workspace, "b.txt");
  const edit = { tool_name: "Write", tool_input: { file_path: file, content: "new\n" }, tool_use_id: "tool-2" };
  await fire("sessionStart", { session_id: "c-1", is_background_agent: false });
  await fire("beforeSubmitPrompt", { prompt, attachments: [] });
  await fire("preToolUse", { ...shell, cwd: workspace });
  await fire("beforeShellExecution", { command, cwd: "", sandbox: false });
  const output = execSync(command, { cwd: workspace, encoding: "utf8" });
  await fire("afterShellExecution", { command, output, duration: 3, sandbox: false });
  await fire("postToolUse", { ...shell, tool_output: output, duration: 3, cwd: workspace });
  await fire("preToolUse", { ...edit, cwd: workspace });
  fs.writeFileSync(file, "new\n");
  await fire("afterFileEdit", { file_path: file, edits: [{ old_string: "", new_string: "new\n" }] });
  await fire("postToolUse", { ...edit, tool_output: "", duration: 3, cwd: workspace });
  await fire("stop", { status: "completed", loop_count: 0 });
  for (const one of ran) console.log(`${one.hookSource} ${one.hookStep}: ${one.status}${one.errorClass ? ` (${one.errorClass})` : ""}`);
  const bad = ran.filter((one) => one.status !== "success");
  if (bad.length > 0) throw new Error(`${bad.length} of ${ran.length} hooks did not succeed`);
};
main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
