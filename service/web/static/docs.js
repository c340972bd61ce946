// The API reference: Swagger UI over the service's OpenAPI document, in the theme of the web UI.

import { at } from "./root.js";

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const paint = () => root.classList.toggle("dark-mode", root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
document.addEventListener("theme", paint);
system.addEventListener("change", paint);
paint();

SwaggerUIBundle({
  url: at("/openapi.json"),
  dom_id: "#swagger-ui",
  validatorUrl: null, // else a badge is loaded from another host
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  filter: true,
});
