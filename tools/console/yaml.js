// The YAML library, as one module.
export * from "yaml";
