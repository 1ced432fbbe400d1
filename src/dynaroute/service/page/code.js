// The code of a run: searches the problem of the saved plan again, as the page did.

/** Lines of a shell; jq takes the problem out of the plan. */
export function curlLines(file, options) {
  const send = "curl -sS -H 'Content-Type: application/json' --data-binary @-";
  return `jq '.instance + {options: ${JSON.stringify(options)}}' '${file}' \\\n  | ${send} '${location.origin}/v1/solve'\n`;
}

/** Lines of Python, which need no service. */
export function pythonLines(file, options) {
  const given = Object.entries(options).map(([name, value]) => `, ${name}=${JSON.stringify(value)}`);
  const solve = `result = dynaroute.solve(plan.instance${given.join("")})`;
  return `import dynaroute\n\nplan = dynaroute.read_plan("${file}")\n${solve}\nprint(result.cost, result.solution.routes)\n`;
}
