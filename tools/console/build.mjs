// Bundles the libraries of others that the console uses; see README.md.

import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

// What tests alone use is copied as it comes (MPL-2.0: unchanged, and its source is this package).
const tests = join(here, "../../tests/browser/vendor");
const axe = join(here, "node_modules/axe-core");
mkdirSync(tests, { recursive: true });
for (const name of ["axe.min.js", "LICENSE"]) copyFileSync(join(axe, name), join(tests, name));
const { name, version, license } = JSON.parse(readFileSync(join(axe, "package.json"), "utf8"));
const tested = [{ name, version, licence: license }];
writeFileSync(join(tests, "packages.json"), JSON.stringify(tested, null, 1) + "\n");
