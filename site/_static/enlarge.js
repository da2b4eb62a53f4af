// A click or Enter opens a figure at full size. Escape or a click closes it.
function enlarge(picture) {
  const dialog = document.createElement("dialog");
  dialog.className = "enlarged";
  dialog.append(picture.cloneNode());
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Escape") dialog.close(); // the theme stops the browser from doing it
  });
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll("figure img, .cell_output img")) {
    picture.tabIndex = 0;
    picture.addEventListener("click", () => enlarge(picture));
    picture.addEventListener("keydown", (event) => {
      if (event.key === "Enter") enlarge(picture);
    });
  }
});
