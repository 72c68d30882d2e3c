// The chart library, as one module; its stylesheet is copied beside it.
export { default } from "uplot";
