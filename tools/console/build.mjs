// Bundles the libraries of others that the console uses; see README.md.

import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../../controlplane/console/static/console/vendor");

const usual = {
  absWorkingDir: here,
  bundle: true,
  target: "es2022",
  minify: true,
  legalComments: "none", // LICENCES.txt has them whole
  metafile: true,
};
const modules = { entryPoints: ["codemirror.js", "yaml.js", "uplot.js"], format: "esm", outdir: out };
const tables = {
  entryPoints: ["alpine.js"],
  format: "iife",
  outdir: join(here, "../../controlplane/console/static/unfold/js/alpine"),
};
const made = [await build({ ...usual, ...modules }), await build({ ...usual, ...tables })];
copyFileSync(join(here, "node_modules/uplot/dist/uPlot.min.css"), join(out, "uplot.css"));

// Every package that something of has gone into a bundle.
const names = new Set();
const outputs = made.flatMap(({ metafile }) => Object.values(metafile.outputs));
for (const path of outputs.flatMap(({ inputs }) => Object.keys(inputs))) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path);
  if (found) names.add(found[1]);
}
const packages = [...names].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const text = readFileSync(licenceOf(name, folder), "utf8").trim();
  return { name, version, licence: license, text };
});
const listed = packages.map(({ name, version, licence }) => ({ name, version, licence }));
writeFileSync(join(out, "packages.json"), JSON.stringify(listed, null, 1) + "\n");
writeFileSync(
  join(out, "LICENCES.txt"),
  packages.map((one) => `${one.name} ${one.version} (${one.licence})\n\n${one.text}\n`).join("\n---\n\n"),
);

/** The file with it. Of packages that leave it out, what their repository has is kept here. */
function licenceOf(name, folder) {
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  return file ? join(folder, file) : join(here, "licences", name.replace("/", "+"));
}

// What tests alone use is copied as it comes (MPL-2.0: unchanged, and its source is this package).
const tests = join(here, "../../tests/browser/vendor");
const axe = join(here, "node_modules/axe-core");
mkdirSync(tests, { recursive: true });
for (const name of ["axe.min.js", "LICENSE"]) copyFileSync(join(axe, name), join(tests, name));
const { name, version, license } = JSON.parse(readFileSync(join(axe, "package.json"), "utf8"));
const tested = [{ name, version, licence: license }];
writeFileSync(join(tests, "packages.json"), JSON.stringify(tested, null, 1) + "\n");
