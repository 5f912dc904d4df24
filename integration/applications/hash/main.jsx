import { createRoot } from "react-dom/client";
import { createHashRouter, RouterProvider } from "react-router-dom";
import Page, { load } from "../react/page.jsx";

const router = createHashRouter([{ path: "/", loader: load, element: <Page /> }, { path: "/:name", loader: load, element: <Page /> }]);
createRoot(document.getElementById("root")).render(<RouterProvider router={router} />);
