# What pdhost cannot be built without: where it is missing, one sentence says so and which package brings it.
find_package(PkgConfig QUIET)

# pdhost_missing(WHAT PACKAGE): ends the configuration
function(pdhost_missing what package)
  message(FATAL_ERROR "pdhost needs ${what}, which was not found: install ${package} (that is Debian's and Ubuntu's name; "
    "scripts/setup installs all that the build needs).")
endfunction()

# pdhost_require(PREFIX MODULE PACKAGE): as pkg_check_modules does, with the target PkgConfig::PREFIX. MODULE may end in >=VERSION.
macro(pdhost_require prefix module package)
  if(NOT PKG_CONFIG_EXECUTABLE)
    pdhost_missing("pkg-config" "pkg-config")
  endif()
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET "${module}")
  if(NOT ${prefix}_FOUND)
    pdhost_missing("the library ${module}" "${package}")
  endif()
endmacro()
