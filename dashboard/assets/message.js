"use strict";
// Says in the browser's own zone when a message is sent.
(function () {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone || zone === "UTC") return;
  for (const element of document.querySelectorAll("time[datetime]")) {
    element.title = sendlimit.time(Date.parse(element.dateTime), zone) + " (" + zone + ")";
  }
})();
