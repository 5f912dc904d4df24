import { createRoot } from "react-dom/client";
import { createBrowserRouter, RouterProvider } from "react-router-dom";

// The page is a file of its own, which is loaded when a route needs it.
const page = async () => {
  const { default: Component, load: loader } = await import("./page.jsx");
  return { Component, loader };
};
const router = createBrowserRouter([{ path: "/", lazy: page, HydrateFallback: () => <p>Loading</p> }, { path: "/:name", lazy: page, HydrateFallback: () => <p>Loading</p> }]);
createRoot(document.getElementById("root")).render(<RouterProvider router={router} />);
