// Bundles the libraries of others that the console uses; see README.md.

import { build } from "esbuild";
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../../controlplane/console/static/console/vendor");

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["codemirror.js", "yaml.js", "uplot.js"],
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none", // LICENCES.txt has them whole
  metafile: true,
  outdir: out,
});
copyFileSync(join(here, "node_modules/uplot/dist/uPlot.min.css"), join(out, "uplot.css"));

// Every package that something of has gone into a bundle.
const names = new Set();
for (const path of Object.values(metafile.outputs).flatMap((made) => Object.keys(made.inputs))) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path);
  if (found) names.add(found[1]);
}
const packages = [...names].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (!file) throw new Error(`${name} comes without its licence`);
  return { name, version, licence: license, text: readFileSync(join(folder, file), "utf8").trim() };
});
const listed = packages.map(({ name, version, licence }) => ({ name, version, licence }));
writeFileSync(join(out, "packages.json"), JSON.stringify(listed, null, 1) + "\n");
writeFileSync(
  join(out, "LICENCES.txt"),
  packages.map((one) => `${one.name} ${one.version} (${one.licence})\n\n${one.text}\n`).join("\n---\n\n"),
);
