// Alpine, which unfold's templates are written for, in the build that evaluates nothing: it reads the
// expressions of attributes by a parser of its own. It stands where unfold has its Alpine.

import Alpine from "@alpinejs/csp";

window.Alpine = Alpine;
queueMicrotask(() => Alpine.start());
