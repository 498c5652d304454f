# What the build files of LSL applications call after find_package(LSL):
#   include("${LSL_DIR}/LSLCMake.cmake")
#   installLSLApp(TARGET)            installs a program, or a library
#   installLSLAuxFiles(TARGET FILE…) installs files beside it; `directory FOLDER` installs a folder
#   LSLGenerateCPackConfig()         prepares `cpack`
include(GNUInstallDirs)

macro(LSLAPP_Setup_Boilerplate)
endmacro()

function(installLSLApp target)
  install(TARGETS ${target} ${ARGN}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    BUNDLE DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

function(installLSLAuxFiles target)
  if("${ARGV1}" STREQUAL "directory")
    install(DIRECTORY ${ARGV2} DESTINATION ${CMAKE_INSTALL_BINDIR})
  else()
    install(FILES ${ARGN} DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()

macro(LSLGenerateCPackConfig)
  if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    include(CPack)
  endif()
endmacro()
