/* A small schema and an object of it that the tests of the pure modules share. */

import { Schemas } from "../../../controlplane/console/static/console/change/schema.js";

const STRING = { type: "string" };
const PREFIX = "#/components/schemas/";

export const SCHEMAS = new Schemas({
  components: {
    schemas: {
      Toy: {
        type: "object",
        required: ["spec"],
        "x-kubernetes-group-version-kind": [{ group: "toys.dev", version: "v1", kind: "Toy" }],
        properties: {
          apiVersion: STRING, kind: STRING,
          metadata: { allOf: [{ $ref: `${PREFIX}Meta` }], default: {} },
          spec: { allOf: [{ $ref: `${PREFIX}Spec` }], description: "How it shall be." },
          status: { type: "object" },
        },
      },
      Meta: {
        type: "object",
        properties: {
          name: STRING, namespace: STRING, uid: STRING, resourceVersion: STRING,
          labels: { type: "object", additionalProperties: STRING },
          finalizers: { type: "array", items: STRING, "x-kubernetes-list-type": "set" },
        },
      },
      Spec: {
        type: "object",
        required: ["size", "mode", "ports"],
        properties: {
          size: { type: "integer", minimum: 1 },
          mode: { type: "string", enum: ["On", "Off"] },
          args: { type: "array", items: STRING },
          selector: { type: "object", additionalProperties: STRING, "x-kubernetes-map-type": "atomic" },
          ports: {
            type: "array",
            items: { $ref: `${PREFIX}Port` },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
          },
        },
      },
      Port: {
        type: "object",
        properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" },
          name: STRING },
      },
    },
  },
});

export const TOY = SCHEMAS.root({ group: "toys.dev", version: "v1", kind: "Toy" });

export function toy(spec = {}, metadata = {}) {
  return { apiVersion: "toys.dev/v1", kind: "Toy", metadata: { name: "t", ...metadata }, spec };
}
