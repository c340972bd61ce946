// The path below which a proxy shows this service, empty without one: what is before /static in a
// script's own address. The service puts it into links and pages itself.

const ROOT = new URL("..", import.meta.url).pathname.slice(0, -1);

/** A path of this service as this page reaches it; one that has the root path already is kept. */
export const at = (path) => (path.startsWith("/") && path !== ROOT && !path.startsWith(`${ROOT}/`) ? ROOT + path : path);

/** Open another page of this service. */
export const go = (path) => location.assign(at(path));
